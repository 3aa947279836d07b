-- Times are milliseconds since the epoch. Structured columns hold JSON.
CREATE TABLE pipelines (
  id TEXT PRIMARY KEY NOT NULL,
  mode TEXT NOT NULL CHECK (mode IN ('simple', 'advanced')),
  on_demand INTEGER NOT NULL,
  source TEXT,
  encoding TEXT,
  output_uri TEXT,
  raw_pipeline TEXT,
  klv_config TEXT NOT NULL,
  geolocation TEXT,
  desired TEXT NOT NULL CHECK (desired IN ('ready', 'playing')),
  screenshots TEXT,
  ephemeral INTEGER NOT NULL,
  trigger_path TEXT,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL
);

-- One row: what a user changed, laid over the defaults of the program.
CREATE TABLE settings (
  id INTEGER PRIMARY KEY NOT NULL CHECK (id = 1),
  value TEXT NOT NULL,
  updated_at INTEGER NOT NULL
);

-- One row while a password is set: its argon2id hash in PHC form.
CREATE TABLE credential (
  id INTEGER PRIMARY KEY NOT NULL CHECK (id = 1),
  password_hash TEXT NOT NULL,
  updated_at INTEGER NOT NULL
);

-- Tokens are kept as their SHA-256 only.
CREATE TABLE sessions (
  token_hash TEXT PRIMARY KEY NOT NULL,
  created_at INTEGER NOT NULL,
  expires_at INTEGER NOT NULL
);

CREATE INDEX sessions_by_expiry ON sessions (expires_at);
