//! Scenarios, histories, guarantees and reports.
