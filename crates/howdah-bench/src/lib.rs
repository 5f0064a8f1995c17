//! Data sets and honest measurements.

mod alarm;
pub mod cell;
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
pub mod load;
pub mod machine;
pub mod measure;
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
