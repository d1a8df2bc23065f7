//! How many events (visits to stations completed) a second the simulator does on one core, as JSON. The network is
//! read from standard input, the number of events is the argument.

use pacelc_queueing::Network;
use pacelc_queueing::simulate::{Options, simulate};
use std::error::Error;
use std::io::{Read, stdin};
use std::num::NonZero;
use std::time::Instant;

fn main() -> Result<(), Box<dyn Error>> {
    let max_events = std::env::args().nth(1).ok_or("how many events?")?.parse()?;
    let mut text = String::new();
    stdin().read_to_string(&mut text)?;
    let model = Network::from_json(&text)?.compile()?;
    let threads = NonZero::new(1);
    let options =
        Options { max_events, precision: 1e-9, threads, percentiles: vec![], ..Options::default() };
    let begin = Instant::now();
    let found = simulate(&model, &options, &|| false)?;
    println!("{}", found.events as f64 / begin.elapsed().as_secs_f64());
    Ok(())
}
