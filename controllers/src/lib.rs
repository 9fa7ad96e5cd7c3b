//! The reference implementation of failover.
