//! Who is where: one state of the network.

/// Whose a token is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Owner {
    /// A customer.
    Customer,
    /// A sibling that nobody waits for any more.
    Late,
    /// A sibling of this split.
    Split(u16),
}

/// A customer or a sibling.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Token {
    /// Its class.
    pub class: u16,
    /// The phase of its service, where it is served.
    pub phase: u16,
    /// Whose it is.
    pub owner: Owner,
}

/// A station's customers.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct Here {
    /// Being served, in no order.
    pub serving: Vec<Token>,
    /// Waiting, the next first.
    pub waiting: Vec<Token>,
}

/// A customer (or sibling) that is split, between a fork and its join.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Split {
    /// The node.
    pub fork: u16,
    /// Who came to the fork.
    pub of: Token,
    /// Siblings that have come to the join.
    pub arrived: u16,
    /// Siblings that haven't.
    pub missing: u16,
}

/// Everything that matters for what comes next.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct State {
    /// By station.
    pub stations: Vec<Here>,
    /// Numbered by their owners' numbers; `None` for those that are over.
    pub splits: Vec<Option<Split>>,
    /// Whose turn it is, by round-robin route.
    pub turns: Vec<u16>,
}

impl State {
    /// All tokens at stations.
    pub fn tokens(&self) -> impl Iterator<Item = &Token> {
        self.stations.iter().flat_map(|here| here.serving.iter().chain(&here.waiting))
    }

    /// How many late siblings there are.
    pub fn late(&self) -> usize {
        let split = self.splits.iter().flatten().filter(|split| split.of.owner == Owner::Late);
        self.tokens().filter(|token| token.owner == Owner::Late).count() + split.count()
    }

    /// Change every owner.
    pub fn rename(&mut self, new: impl Fn(Owner) -> Owner) {
        for here in &mut self.stations {
            for token in here.serving.iter_mut().chain(&mut here.waiting) {
                token.owner = new(token.owner);
            }
        }
        for split in self.splits.iter_mut().flatten() {
            split.of.owner = new(split.of.owner);
        }
    }

    /// The same for all states that differ in names only, but for a few that stay apart, which is no harm.
    pub fn canonical(mut self) -> Self {
        let about = |state: &Self, owner: Owner| match owner {
            Owner::Split(number) => {
                state.splits[number as usize].map(|s| (s.fork, s.of.class, s.arrived, s.missing))
            }
            Owner::Customer | Owner::Late => None,
        };
        let splits = self.clone();
        for here in &mut self.stations {
            here.serving.sort_by_key(|token| {
                (token.class, token.phase, about(&splits, token.owner), token.owner)
            });
        }
        if self.splits.is_empty() {
            return self;
        }
        let mut order: Vec<u16> = Vec::new();
        let seen = self.tokens().map(|token| token.owner);
        let seen = seen.chain(self.splits.iter().flatten().map(|split| split.of.owner));
        for owner in seen {
            if let Owner::Split(number) = owner
                && !order.contains(&number)
            {
                order.push(number);
            }
        }
        self.rename(|owner| match owner {
            Owner::Split(number) => {
                let at = order.iter().position(|known| *known == number);
                Owner::Split(at.expect("every owner was seen") as u16)
            }
            other => other,
        });
        self.splits = order.iter().map(|number| self.splits[*number as usize]).collect();
        self
    }
}
