//! The benchmark against servers, and its report: one program, so that it is linked once.

mod bench_load;
mod compare;
mod concurrency;
mod contenders;
mod continuous;
mod dataset_loads;
mod doctor;
mod example;
mod keyed;
mod report;
mod report_page;
