//! Data sets and honest measurements.

pub mod cell;
pub mod command;
pub mod compare;
pub mod contender;
pub mod continuous;
pub mod database;
pub mod dataset;
pub mod delay_proxy;
pub mod environment;
pub mod error;
pub mod floor;
pub mod latency;
pub mod machine;
pub mod measure;
mod precise_timer;
pub mod process;
pub mod record;
pub mod report;
pub mod rounds;
pub mod runner;
pub mod scenario;
pub mod scenarios;
pub mod scratch;
pub mod server_cpu;
pub mod table;
pub mod worker;
pub mod writers;
