-- Every block begins with a header, and the file runs in DBeaver as it is. `howdah codegen syntax` shows all there is.

-- MIGRATE 1
CREATE TABLE tasks (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  title text NOT NULL,
  priority integer NOT NULL,
  note text
);

-- One task by its number.
-- QUERY task_by_id :one
@set id = 1
SELECT id, title, note FROM tasks WHERE id = ${id};

-- Tasks, the most urgent first. The line that ends with its name goes where a caller gives none.
-- QUERY find_tasks
@set min_priority = 2
SELECT id, title, priority FROM tasks WHERE true
  AND priority >= ${min_priority} --? min_priority
ORDER BY priority DESC, id;

-- TABLE tasks :appender(title, priority, note)
