-- knowledge.db, whole. Readable and runnable without Python; the vector part at the end is
-- created only when embeddings are configured (its :dimension is filled in then).
--
-- A chunk's id is its document's id * 2^20 + its ordinal, so a set of documents is
-- `rowid >> 20` over FTS rows with no join, and the first matching chunk is min(rowid).

CREATE TABLE meta (
    key   TEXT PRIMARY KEY,
    value TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE documents (
    id           INTEGER PRIMARY KEY AUTOINCREMENT,  -- never reused: an old citation never names new text
    path         TEXT NOT NULL UNIQUE,               -- POSIX, relative to meta.base
    title        TEXT NOT NULL,                      -- written on every upsert, read by nothing (reserved)
    sha256       TEXT NOT NULL,                      -- of the file's bytes
    bytes        INTEGER NOT NULL,
    modified_ns  INTEGER NOT NULL,                   -- the file's mtime, nanoseconds since 1970
    indexed_at   TEXT NOT NULL,                      -- UTC, ISO 8601
    chunks       INTEGER NOT NULL,                   -- carried forward when an unchanged file is skipped
    stale_reason TEXT                                -- NULL, or why the text may be older than the file
) STRICT;

CREATE TABLE chunks (
    id            INTEGER PRIMARY KEY,
    document_id   INTEGER NOT NULL REFERENCES documents (id) ON DELETE CASCADE,
    ordinal       INTEGER NOT NULL,                  -- from 0, in the order of the file
    heading       TEXT NOT NULL,                     -- breadcrumb as shown, levels joined by ' > '
    body          TEXT NOT NULL,                     -- exact slice of the file
    heading_terms TEXT,                              -- what FTS5 sees, where it differs from heading
    body_terms    TEXT,                              -- what FTS5 sees, where it differs from body
    opens         INTEGER NOT NULL,                  -- trailing breadcrumb levels that begin at this chunk
    continues     INTEGER NOT NULL,                  -- 1: goes on with its predecessor's section
    first_line    INTEGER NOT NULL,                  -- 1-based, in the file
    last_line     INTEGER NOT NULL,
    vector_state  TEXT NOT NULL DEFAULT 'none'       -- none | stored | blank | refused
                  CHECK (vector_state IN ('none', 'stored', 'blank', 'refused')),
    vector_note   TEXT,                              -- the server's message where it refused
    CHECK (id = document_id * 1048576 + ordinal),
    CHECK (ordinal BETWEEN 0 AND 1048575),
    CHECK (continues IN (0, 1)),
    CHECK (heading <> '' OR body <> '')
) STRICT;

CREATE INDEX chunks_by_document ON chunks (document_id);
CREATE INDEX chunks_without_vector ON chunks (vector_state) WHERE vector_state <> 'stored';

CREATE TABLE skipped_files (
    path   TEXT PRIMARY KEY,                         -- relative to meta.base; undecodable bytes are escaped
    kind   TEXT NOT NULL CHECK (kind IN ('file', 'directory')),
    reason TEXT NOT NULL,
    bytes  INTEGER,                                  -- NULL where unknown
    detail TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE other_types (                           -- files of types that the settings do not take
    root   TEXT NOT NULL,
    suffix TEXT NOT NULL,
    files  INTEGER NOT NULL,
    bytes  INTEGER NOT NULL,
    PRIMARY KEY (root, suffix)
) STRICT, WITHOUT ROWID;

-- What the two FTS5 tables index. They keep no copy of the text (external content).
CREATE VIEW chunks_indexed AS
    SELECT id, coalesce(heading_terms, heading) AS heading, coalesce(body_terms, body) AS body
    FROM chunks;

CREATE VIRTUAL TABLE chunks_fts USING fts5 (
    heading, body, content = 'chunks_indexed', content_rowid = 'id',
    tokenize = "porter unicode61 remove_diacritics 2 categories 'L* N* Co Mn Mc'"
);

CREATE VIRTUAL TABLE chunks_fts_exact USING fts5 (
    heading, body, content = 'chunks_indexed', content_rowid = 'id',
    tokenize = "unicode61 remove_diacritics 0 categories 'L* N* Co Mn Mc'"
);

-- The 'delete' commands get exactly the text that was indexed; anything else leaves ghosts.
CREATE TRIGGER chunks_inserted AFTER INSERT ON chunks BEGIN
    INSERT INTO chunks_fts (rowid, heading, body) VALUES
        (new.id, coalesce(new.heading_terms, new.heading), coalesce(new.body_terms, new.body));
    INSERT INTO chunks_fts_exact (rowid, heading, body) VALUES
        (new.id, coalesce(new.heading_terms, new.heading), coalesce(new.body_terms, new.body));
END;

CREATE TRIGGER chunks_deleted AFTER DELETE ON chunks BEGIN
    INSERT INTO chunks_fts (chunks_fts, rowid, heading, body) VALUES
        ('delete', old.id, coalesce(old.heading_terms, old.heading), coalesce(old.body_terms, old.body));
    INSERT INTO chunks_fts_exact (chunks_fts_exact, rowid, heading, body) VALUES
        ('delete', old.id, coalesce(old.heading_terms, old.heading), coalesce(old.body_terms, old.body));
END;

CREATE TRIGGER chunks_updated AFTER UPDATE OF id, heading, body, heading_terms, body_terms ON chunks BEGIN
    INSERT INTO chunks_fts (chunks_fts, rowid, heading, body) VALUES
        ('delete', old.id, coalesce(old.heading_terms, old.heading), coalesce(old.body_terms, old.body));
    INSERT INTO chunks_fts_exact (chunks_fts_exact, rowid, heading, body) VALUES
        ('delete', old.id, coalesce(old.heading_terms, old.heading), coalesce(old.body_terms, old.body));
    INSERT INTO chunks_fts (rowid, heading, body) VALUES
        (new.id, coalesce(new.heading_terms, new.heading), coalesce(new.body_terms, new.body));
    INSERT INTO chunks_fts_exact (rowid, heading, body) VALUES
        (new.id, coalesce(new.heading_terms, new.heading), coalesce(new.body_terms, new.body));
END;

-- One row per place of a word: fts5vocab's own counts are of rows, which are chunks, not documents.
CREATE VIRTUAL TABLE terms_exact USING fts5vocab (chunks_fts_exact, instance);
CREATE VIRTUAL TABLE terms_porter USING fts5vocab (chunks_fts, instance);
CREATE VIRTUAL TABLE words_exact USING fts5vocab (chunks_fts_exact, col);

-- The vocabulary: every real word, chunks that hold it in body or heading, occurrences in both.
CREATE VIEW vocabulary AS
    SELECT term AS word,
           sum(CASE col WHEN 'body' THEN doc ELSE 0 END)    AS body_chunks,
           sum(CASE col WHEN 'body' THEN cnt ELSE 0 END)    AS body_occurrences,
           sum(CASE col WHEN 'heading' THEN doc ELSE 0 END) AS heading_chunks,
           sum(CASE col WHEN 'heading' THEN cnt ELSE 0 END) AS heading_occurrences
    FROM words_exact
    GROUP BY term;

-- vectors --
CREATE VIRTUAL TABLE chunks_vec USING vec0 (embedding float[:dimension]);

CREATE TRIGGER chunks_vec_deleted AFTER DELETE ON chunks WHEN old.vector_state = 'stored' BEGIN
    DELETE FROM chunks_vec WHERE rowid = old.id;
END;
