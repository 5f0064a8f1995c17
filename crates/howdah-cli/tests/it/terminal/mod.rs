//! The command as a person lives it: in a shell, on a terminal, against a server.

mod guides;
mod lost;
mod messages;
mod own_servers;
mod progress;
mod shell;
