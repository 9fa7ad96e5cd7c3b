//! Fleets of member clusters, the links to them, and what goes on inside a member.
