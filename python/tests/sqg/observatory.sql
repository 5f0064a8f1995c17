-- An observatory's telescopes and their nights, in SQG's dialect: each annotation that it documents, and no other.

/* Comments are free, as long as they do not begin
   with the word of a header. */

-- The sites belong to another service.
-- BASELINE sites
CREATE TABLE sites (
  code text PRIMARY KEY,
  name text NOT NULL
);

-- MIGRATE 1
CREATE TYPE sky AS ENUM ('clear', 'partly cloudy', 'closed');

CREATE TABLE telescopes (
  id bigint PRIMARY KEY,
  site text NOT NULL REFERENCES sites (code),
  name text NOT NULL UNIQUE,
  aperture numeric(6, 2), -- in metres
  filters text[]
);

-- MIGRATE nights
CREATE TABLE nights (
  id serial PRIMARY KEY,
  telescope bigint NOT NULL REFERENCES telescopes (id),
  began timestamptz NOT NULL,
  sky sky NOT NULL DEFAULT 'clear',
  frames integer,
  remark varchar(200)
);

-- The same name as that of a step: they are in spaces of their own.
-- TESTDATA nights
INSERT INTO sites VALUES ('LP', 'La Palma');
INSERT INTO telescopes VALUES (1, 'LP', 'Cyclops', 2.5, '{r,g}'), (2, 'LP', 'Argus', NULL, NULL);
INSERT INTO nights (telescope, began) VALUES (1, '2026-01-01T20:00:00Z');

-- QUERY all_telescopes
SELECT * FROM telescopes ORDER BY id;

-- QUERY telescopeNames :all :pluck
SELECT name FROM telescopes ORDER BY name;

-- QUERY telescope_by_id :one :result=Telescope
@set id = 1
SELECT id, name, aperture FROM telescopes WHERE id = ${id};

-- Rows of the same columns are the same class, where the name of it stands at one of them.
-- QUERY telescopes_of_site
@set site = 'LP'
SELECT id, name, aperture FROM telescopes WHERE site = ${site} ORDER BY id;

-- QUERY largest1
@set least = 2.00
SELECT id, name, aperture FROM telescopes WHERE aperture >= ${least} ORDER BY aperture DESC;

-- QUERY count_nights :one :pluck
SELECT count(*) FROM nights;

-- A variable that stands twice is one parameter; their order is that of the lines with @set.
-- QUERY nights_between
@set sky = 'clear'
@set since = '2026-01-01T00:00:00Z'
@set until = '2027-01-01T00:00:00Z'
SELECT n.id, t.name, n.began, n.sky, n.frames
FROM nights n JOIN telescopes t ON t.id = n.telescope
WHERE n.began >= ${since} AND n.began < ${until} AND n.sky = ${sky}::sky
  AND (${until} > ${since}) /* comments may stand here, too */
ORDER BY n.began; -- and here

/* QUERY frames_of_site :one
  result:
    site: text not null
    frames: bigint not null
*/
@set site = 'LP'
SELECT t.site, coalesce(sum(n.frames), 0)::bigint AS frames
FROM telescopes t LEFT JOIN nights n ON n.telescope = t.id
WHERE t.site = ${site} GROUP BY t.site;

-- EXEC add_night
@set telescope = 1
@set began = '2026-01-02T20:00:00Z'
@set sky = 'closed'
@set frames = null
@set remark = null
INSERT INTO nights (telescope, began, sky, frames, remark)
VALUES (${telescope}, ${began}, ${sky}::sky, ${frames}, ${remark});

-- EXEC rename_telescope :batch
@set id = 2
@set name = 'Argus II'
UPDATE telescopes SET name = ${name} WHERE id = ${id};

-- EXEC remove_night :batch
@set id = 1
DELETE FROM nights WHERE id = ${id};

-- Its name begins so: it runs, and no code is made of it.
-- QUERY _sites_without_telescopes
SELECT s.code FROM sites s LEFT JOIN telescopes t ON t.site = s.code WHERE t.id IS NULL;

-- TABLE telescopes :appender

-- TABLE night_log :appender
nights
