//! `github-events`: public events of a code host as its hourly archives have them, made up.
//!
//! The mix of event types, the keys of their payloads (compact, sorted, doubled quotes in CSV) and the lengths follow
//! the archives; names, ids and texts are drawn.

use super::decimal::push_integer;
use super::rng::Rng;
use super::value::{Rows, Sink, Value};

/// Names and types, in order.
pub(super) const COLUMNS: [(&str, &str); 9] = [
    ("event_id", "text NOT NULL"),
    ("event_type", "text NOT NULL"),
    ("actor_id", "bigint"),
    ("actor_login", "text"),
    ("repo_id", "bigint"),
    ("repo_name", "text"),
    ("created_at", "timestamptz NOT NULL"),
    ("is_public", "boolean NOT NULL"),
    ("payload", "jsonb NOT NULL"),
];

/// 2025-01-01 00:00:00 UTC.
const START: i64 = 1_735_689_600;
/// Events a second, about what the archives hold.
const PER_SECOND: u64 = 60;
/// The id of the first event.
const FIRST_ID: u64 = 45_000_000_000;
/// How many users and repositories there are.
const ACTORS: u32 = 2_000_000;
const REPOSITORIES: u32 = 4_000_000;

/// How often each type occurs, in hundredths.
const MIX: [(u32, EventKind); 9] = [
    (44, EventKind::Push),
    (14, EventKind::Create),
    (10, EventKind::PullRequest),
    (12, EventKind::Watch),
    (8, EventKind::IssueComment),
    (4, EventKind::Delete),
    (4, EventKind::Issues),
    (3, EventKind::Fork),
    (1, EventKind::Release),
];

const FIRST_WORDS: [&str; 16] = [
    "amber", "brave", "calm", "deep", "early", "fast", "green", "hidden", "iron", "jolly", "keen", "lucky",
    "mellow", "north", "open", "quiet",
];
const SECOND_WORDS: [&str; 16] = [
    "badger", "cedar", "delta", "engine", "falcon", "garden", "harbor", "island", "kernel", "lantern",
    "meadow", "otter", "parser", "river", "signal", "tracker",
];
const BOTS: [(&str, u64); 3] =
    [("github-actions[bot]", 41_898_282), ("dependabot[bot]", 49_699_333), ("renovate[bot]", 29_139_614)];
const BRANCHES: [&str; 6] = ["main", "master", "develop", "gh-pages", "release/2.x", "feature/login"];
/// As they stand inside a JSON string: some need escapes, some are not ASCII.
const DESCRIPTIONS: [&str; 8] = [
    "A small tool that does one thing",
    "Notes, scripts and dotfiles",
    "Configuration for my editor, shell and window manager",
    "The \\\"unofficial\\\" client, with tests",
    "Beispiele für den Kurs „Datenbanken“",
    "数据结构与算法练习",
    "C:\\\\tools and other leftovers",
    "Demo \\u2014 see README\\nfor more",
];

#[derive(Debug, Clone, Copy)]
enum EventKind {
    Push,
    Create,
    PullRequest,
    Watch,
    IssueComment,
    Delete,
    Issues,
    Fork,
    Release,
}

impl EventKind {
    fn name(self) -> &'static str {
        match self {
            EventKind::Push => "PushEvent",
            EventKind::Create => "CreateEvent",
            EventKind::PullRequest => "PullRequestEvent",
            EventKind::Watch => "WatchEvent",
            EventKind::IssueComment => "IssueCommentEvent",
            EventKind::Delete => "DeleteEvent",
            EventKind::Issues => "IssuesEvent",
            EventKind::Fork => "ForkEvent",
            EventKind::Release => "ReleaseEvent",
        }
    }
}

/// The endless sequence of events for a seed; the buffers of the current row are used again for the next.
pub(super) struct Events {
    rng: Rng,
    made: u64,
    id: u64,
    seconds: i64,
    kind: EventKind,
    actor_id: u64,
    actor_login: Vec<u8>,
    repo_id: u64,
    repo_name: Vec<u8>,
    payload: Vec<u8>,
}

impl Events {
    pub(super) fn new(seed: u64) -> Self {
        Events {
            rng: Rng::new(seed, b"ghevents"),
            made: 0,
            id: FIRST_ID,
            seconds: START,
            kind: EventKind::Push,
            actor_id: 0,
            actor_login: Vec::new(),
            repo_id: 0,
            repo_name: Vec::new(),
            payload: Vec::new(),
        }
    }

    fn draw_kind(&mut self) -> EventKind {
        let mut left = self.rng.below(100);
        for (share, kind) in MIX {
            if left < share {
                return kind;
            }
            left -= share;
        }
        EventKind::Push
    }

    fn draw_actor(&mut self) {
        self.actor_login.clear();
        if self.rng.chance(12, 100) {
            let (login, id) = BOTS[self.rng.below(3) as usize];
            self.actor_login.extend_from_slice(login.as_bytes());
            self.actor_id = id;
        } else {
            let actor = self.rng.skewed(ACTORS);
            self.actor_id = 1_000 + u64::from(actor) * 97;
            push_login(&mut self.actor_login, actor);
        }
    }

    fn draw_repository(&mut self) {
        let repository = self.rng.skewed(REPOSITORIES);
        self.repo_id = 10_000 + u64::from(repository) * 233;
        self.repo_name.clear();
        // A repository keeps its owner.
        push_login(&mut self.repo_name, repository.wrapping_mul(2_654_435_761) % ACTORS);
        self.repo_name.push(b'/');
        push_words(&mut self.repo_name, repository, b'-');
    }

    fn draw_payload(&mut self) {
        let Events { rng, payload, made, .. } = self;
        payload.clear();
        let number = 1 + rng.skewed(9_000);
        match self.kind {
            EventKind::Push => {
                let size = 1 + rng.skewed(6);
                push(payload, "{\"before\":\"");
                push_hash(payload, rng);
                push(payload, "\",\"distinct_size\":");
                push_integer(payload, size);
                push(payload, ",\"head\":\"");
                push_hash(payload, rng);
                push(payload, "\",\"push_id\":");
                push_integer(payload, 22_000_000_000 + *made);
                push(payload, ",\"ref\":\"refs/heads/");
                push(payload, rng.pick(&BRANCHES));
                push(payload, "\",\"size\":");
                push_integer(payload, size);
                payload.push(b'}');
            }
            EventKind::Create => {
                push(payload, "{\"description\":");
                if rng.chance(1, 2) {
                    push(payload, "null");
                } else {
                    payload.push(b'"');
                    push(payload, rng.pick(&DESCRIPTIONS));
                    payload.push(b'"');
                }
                push(payload, ",\"master_branch\":\"main\",\"pusher_type\":\"user\",\"ref\":\"");
                push(payload, rng.pick(&BRANCHES));
                push(payload, "\",\"ref_type\":\"branch\"}");
            }
            EventKind::PullRequest => {
                let (action, state) =
                    if rng.chance(1, 2) { ("opened", "open") } else { ("closed", "closed") };
                push(payload, "{\"action\":\"");
                push(payload, action);
                push(payload, "\",\"number\":");
                push_integer(payload, number);
                push_numbered(payload, "pull_request", 2_200_000_000 + *made, number, state);
                payload.push(b'}');
            }
            EventKind::Watch => push(payload, "{\"action\":\"started\"}"),
            EventKind::IssueComment => {
                push(payload, "{\"action\":\"created\",\"comment\":{\"id\":");
                push_integer(payload, 2_560_000_000 + *made);
                payload.push(b'}');
                push_numbered(payload, "issue", 2_760_000_000 + u64::from(number), number, "open");
                payload.push(b'}');
            }
            EventKind::Delete => {
                push(payload, "{\"pusher_type\":\"user\",\"ref\":\"dependabot/npm_and_yarn/");
                push_words(payload, number, b'-');
                push(payload, "\",\"ref_type\":\"branch\"}");
            }
            EventKind::Issues => {
                push(payload, "{\"action\":\"opened\"");
                push_numbered(payload, "issue", 2_760_000_000 + *made, number, "open");
                payload.push(b'}');
            }
            EventKind::Fork => {
                push(payload, "{\"forkee\":{\"full_name\":\"");
                payload.extend_from_slice(&self.repo_name);
                push(payload, "\",\"id\":");
                push_integer(payload, 910_000_000 + *made);
                push(payload, ",\"private\":false}}");
            }
            EventKind::Release => {
                push(payload, "{\"action\":\"published\",\"release\":{\"id\":");
                push_integer(payload, 193_000_000 + *made);
                push(payload, ",\"name\":\"");
                push(payload, rng.pick(&DESCRIPTIONS));
                push(payload, "\",\"prerelease\":false,\"tag_name\":\"v1.");
                push_integer(payload, number % 40);
                push(payload, "\"}}");
            }
        }
    }
}

impl Rows for Events {
    fn advance(&mut self) {
        self.id += 1 + u64::from(self.rng.below(30));
        self.seconds = START + i64::try_from(self.made / PER_SECOND).unwrap_or(i64::MAX - START);
        self.made += 1;
        self.kind = self.draw_kind();
        self.draw_actor();
        self.draw_repository();
        self.draw_payload();
    }

    fn emit(&self, sink: &mut impl Sink) {
        sink.begin(COLUMNS.len());
        sink.put(Value::Text(itoa::Buffer::new().format(self.id).as_bytes()));
        sink.put(Value::Text(self.kind.name().as_bytes()));
        sink.put(Value::Bigint(self.actor_id.cast_signed()));
        sink.put(Value::Text(&self.actor_login));
        sink.put(Value::Bigint(self.repo_id.cast_signed()));
        sink.put(Value::Text(&self.repo_name));
        sink.put(Value::Timestamptz(self.seconds * 1_000_000));
        sink.put(Value::Boolean(true));
        sink.put(Value::Jsonb(&self.payload));
    }
}

fn push(out: &mut Vec<u8>, text: &str) {
    out.extend_from_slice(text.as_bytes());
}

/// Forty hexadecimal digits.
fn push_hash(out: &mut Vec<u8>, rng: &mut Rng) {
    for digits in [16, 16, 8] {
        let mut word = rng.word();
        for _ in 0..digits {
            out.push(b"0123456789abcdef"[(word & 15) as usize]);
            word >>= 4;
        }
    }
}

/// `,"KEY":{"id":1,"number":2,"state":"open"}`.
fn push_numbered(out: &mut Vec<u8>, key: &str, id: u64, number: u32, state: &str) {
    push(out, ",\"");
    push(out, key);
    push(out, "\":{\"id\":");
    push_integer(out, id);
    push(out, ",\"number\":");
    push_integer(out, number);
    push(out, ",\"state\":\"");
    push(out, state);
    push(out, "\"}");
}

/// The login of the n-th user: the same whenever the user comes up.
fn push_login(out: &mut Vec<u8>, actor: u32) {
    push_words(out, actor, b'-');
    push_integer(out, actor / 256);
}

fn push_words(out: &mut Vec<u8>, of: u32, separator: u8) {
    push(out, FIRST_WORDS[(of % 16) as usize]);
    out.push(separator);
    push(out, SECOND_WORDS[(of / 16 % 16) as usize]);
}
