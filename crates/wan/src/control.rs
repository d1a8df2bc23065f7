//! The specification of a network and the commands to it: JSON, one a line.

use crate::WanError;
use crate::driver::{Commander, Driver};
use crate::host::Host;
use crate::link::Link;
use crate::mesh::{HostId, Mesh};
use serde::Deserialize;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read, Write};
use std::net::Ipv4Addr;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::{SystemTime, UNIX_EPOCH};

/// A network as asked for.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NetworkSpec {
    /// Of what is random on links.
    #[serde(default)]
    pub seed: u64,
    /// The hosts, each with an address of its own.
    pub hosts: Vec<HostSpec>,
    /// Links that aren't cables without length; of several for one pair the last is in force.
    #[serde(default)]
    pub links: Vec<LinkSpec>,
}

/// A host as asked for.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HostSpec {
    /// Unique among hosts.
    pub name: String,
    /// Unique as well, and all within one network of 16 bits.
    pub address: Ipv4Addr,
}

/// A link from each of some hosts to each of some others: the properties of a [`Link`], with `from`
/// and `to` beside them.
#[derive(Debug, Deserialize)]
#[serde(try_from = "Map<String, Value>")]
pub struct LinkSpec {
    /// Names of the senders.
    pub from: Vec<String>,
    /// Names of the receivers.
    pub to: Vec<String>,
    /// What it does.
    pub link: Link,
}

impl TryFrom<Map<String, Value>> for LinkSpec {
    type Error = serde_json::Error;

    // By hand, since a flattened struct would let unknown properties pass.
    fn try_from(mut properties: Map<String, Value>) -> Result<Self, Self::Error> {
        let mut names = |key| serde_json::from_value(properties.remove(key).unwrap_or_default());
        let (from, to) = (names("from")?, names("to")?);
        Ok(Self { from, to, link: serde_json::from_value(Value::Object(properties))? })
    }
}

#[derive(Debug, Deserialize)]
#[serde(tag = "do", rename_all = "kebab-case", deny_unknown_fields)]
enum Command {
    Links { links: Vec<LinkSpec> },
    Cut { cut: Vec<(String, String)> },
    Counters,
}

/// Makes the hosts, says on standard output where they are, and moves their packets until standard
/// input ends.
pub fn run(spec: &str) -> Result<(), WanError> {
    let input = io::stdin().as_fd().try_clone_to_owned();
    let output = io::stdout().as_fd().try_clone_to_owned();
    let failed = WanError::system("standard input and output");
    let (input, output) = input.and_then(|input| Ok((input, output?))).map_err(failed)?;
    serve(spec, Control::new(input, output))
}

/// The same, with the one who commands elsewhere.
pub fn serve(spec: &str, mut control: Control) -> Result<(), WanError> {
    let spec: NetworkSpec = serde_json::from_str(spec)?;
    let mesh = spec.mesh()?;
    let hosts = spec
        .hosts
        .iter()
        .map(|host| Host::new(&host.name, host.address))
        .collect::<Result<Vec<_>, _>>()?;
    let mut driver = Driver::new(mesh, hosts);
    let paths: BTreeMap<_, _> =
        driver.hosts().iter().map(|host| (host.name.as_str(), host.path())).collect();
    control.say(&json!({ "ready": true, "hosts": paths }))?;
    driver.run(&mut control)
}

impl NetworkSpec {
    /// The rules, checked.
    fn mesh(&self) -> Result<Mesh, WanError> {
        let unlike = |what: &str| WanError::Invalid(format!("two hosts have the same {what}"));
        for (index, host) in self.hosts.iter().enumerate() {
            for other in &self.hosts[..index] {
                if host.name == other.name {
                    return Err(unlike("name"));
                }
                if host.address == other.address {
                    return Err(unlike("address"));
                }
                if host.address.octets()[..2] != other.address.octets()[..2] {
                    let problem = "all hosts must lie within one network of 16 bits";
                    return Err(WanError::Invalid(problem.into()));
                }
            }
        }
        let mut mesh =
            Mesh::new(self.hosts.iter().map(|host| host.name.clone()).collect(), self.seed);
        set_links(&mut mesh, &self.links)?;
        Ok(mesh)
    }
}

/// Changes links: all of them, or none where one can't be.
fn set_links(mesh: &mut Mesh, links: &[LinkSpec]) -> Result<(), WanError> {
    let mut changes: Vec<(HostId, HostId, &Link)> = Vec::new();
    for spec in links {
        spec.link.check()?;
        for from in &spec.from {
            for to in &spec.to {
                if from != to {
                    changes.push((mesh.host(from)?, mesh.host(to)?, &spec.link));
                }
            }
        }
    }
    for (from, to, link) in changes {
        mesh.set_link(from, to, link.clone());
    }
    Ok(())
}

/// Who commands.
#[derive(Debug)]
pub struct Control {
    input: File,
    output: File,
    pending: Vec<u8>,
}

impl AsFd for Control {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.input.as_fd()
    }
}

impl Control {
    /// Commands come from `input`, answers go to `output`.
    #[must_use]
    pub fn new(input: OwnedFd, output: OwnedFd) -> Self {
        Self { input: input.into(), output: output.into(), pending: Vec::new() }
    }

    fn say(&mut self, reply: &Value) -> Result<(), WanError> {
        let line = format!("{reply}\n");
        self.output.write_all(line.as_bytes()).map_err(WanError::system("answering a command"))
    }
}

impl Commander for Control {
    fn answer(&mut self, driver: &mut Driver) -> Result<bool, WanError> {
        let mut chunk = [0; 8_192];
        let count = self.input.read(&mut chunk).map_err(WanError::system("reading a command"))?;
        if count == 0 {
            return Ok(false);
        }
        self.pending.extend_from_slice(&chunk[..count]);
        while let Some(end) = self.pending.iter().position(|byte| *byte == b'\n') {
            let line: Vec<u8> = self.pending.drain(..=end).collect();
            let reply =
                carry_out(driver, &line).unwrap_or_else(|e| json!({ "error": e.to_string() }));
            self.say(&reply)?;
        }
        Ok(true)
    }
}

fn carry_out(driver: &mut Driver, line: &[u8]) -> Result<Value, WanError> {
    let mut reply = json!({});
    match serde_json::from_slice(line)? {
        Command::Links { links } => set_links(&mut driver.mesh, &links)?,
        Command::Cut { cut } => {
            let pairs = cut
                .iter()
                .map(|(from, to)| Ok((driver.mesh.host(from)?, driver.mesh.host(to)?)))
                .collect::<Result<Vec<_>, WanError>>()?;
            driver.mesh.set_cut(&pairs);
        }
        Command::Counters => reply["pairs"] = driver.mesh.counters().map(told).collect(),
    }
    reply["unix_us"] = unix_us().into();
    Ok(reply)
}

fn told((from, to, counters): (&str, &str, crate::mesh::Counters)) -> Value {
    let mut value = json!(counters);
    value["from"] = from.into();
    value["to"] = to.into();
    value
}

fn unix_us() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_micros() as u64)
}
