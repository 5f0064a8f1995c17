-- A file has blocks: a header, variables, SQL. A block whose name begins with _ is only checked.

-- Steps that make and change tables, in order (with :no_transaction by themselves):
-- MIGRATE 1
CREATE TABLE users (id bigint PRIMARY KEY, name text NOT NULL, email text);

-- For describing only: rows, here, or as BASELINE a schema that others own. Migrations of another
-- tool and dumps are named in howdah.yaml: `schema: [db/migrations/]`.
-- TESTDATA some
INSERT INTO users VALUES (1, 'Ada', 'ada@example.org');

-- Rows (:all), at most one (:one), or the values of the only column (:pluck); :result=User
-- names the row. Comments directly above a header document the method.
-- QUERY user_by_name :one
@set name = 'Ada'
SELECT id, name, email FROM users WHERE name = ${name};

-- The number of changed rows; :batch takes many parameters at once. `null` allows null.
-- EXEC add_user :batch
@set id = 2
@set name = 'Bob'
@set email = null
INSERT INTO users VALUES (${id}, ${name}, ${email});

-- YAML in a header says what the server cannot know: a type, `not null`, `null`, or both.
/* QUERY totals
   params: {least: numeric not null}
   result: {total: not null} */
@set least = 1
SELECT email, sum(id) AS total FROM users GROUP BY email HAVING sum(id) > ${least};

-- A line with `--? name` goes when that variable is null; a name that is no variable is true or
-- false. Of `choices`, callers pick one; nothing else is joined, and each text is described.
/* QUERY find_users
   choices: {sort: [id DESC, name]} */
@set name = 'Ada'
@set sort = name
SELECT id, name, email FROM users WHERE true
  AND name = ${name} --? name
  AND email IS NOT NULL --? reachable
ORDER BY ${sort};

-- A table to write by binary COPY; its name stands below, as `TABLE name;`, if it is not the
-- block's. Of rows whose key is there, :upsert updates and :ignore leaves them;
-- :upsert=users_pkey names the key. :writer writes rows one at a time (Python, Rust).
-- TABLE users :appender :upsert
