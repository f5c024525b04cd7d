-- An invented town. Each row is a page of the search world.
CREATE TABLE bridges (
  name TEXT PRIMARY KEY,
  about TEXT,
  opened TEXT,
  length_in_meters INTEGER,
  designer TEXT
);
INSERT INTO bridges VALUES
  ('Salt Bridge', 'It carries the road to the salt works over the Olm. Barges with salt still pass below it.', '1912-05-04', 412, 'Ada Moreno'),
  ('Reed Bridge', 'A footbridge over the Olm next to the old mill. In spring, herons nest below it.', '1950-09-17', 88, 'Jonas Lind'),
  ('Lantern Bridge', 'It leads from the market to the island. Every lamp post has a lantern of another color.', '1987-11-30', 143, 'Priya Nair'),
  ('Ferry Bridge', 'It replaced the ferry at the harbor, and opens twice a day for ships. Trams cross it.', '1964-03-21', 268, 'Ada Moreno'),
  ('Mill Bridge', 'The oldest bridge of the town, built of stone for carts with flour.', '1804-06-12', 57, 'Emil Castellan');

CREATE TABLE museums (
  name TEXT PRIMARY KEY,
  about TEXT,
  founder TEXT,
  visitors_per_year INTEGER
);
INSERT INTO museums VALUES
  ('Museum of Clocks', 'Tower clocks, pocket watches, and a workshop where visitors repair alarm clocks.', 'Greta Solberg', 48200),
  ('House of Rain', 'Everything about weather, from barometers to umbrellas. It stands next to the old mill.', 'Tomas Reyes', 31750),
  ('Tram Depot', 'Trams from all decades, in the depot at the harbor. On Sundays, one of them runs.', 'Leo Park', 66900),
  ('Herring Hall', 'The former fish market, with boats, nets, and the smell of smoke.', 'Mira Okafor', 22400);

CREATE TABLE festivals (
  name TEXT PRIMARY KEY,
  about TEXT,
  patron TEXT,
  days INTEGER
);
INSERT INTO festivals VALUES
  ('Night of Lanterns', 'Boats with lanterns drift from the island to the harbor.', 'Mira Okafor', 3),
  ('Salt Fair', 'Merchants sell salt, pickles, and smoked fish at the salt works.', 'Greta Solberg', 9),
  ('Week of Clocks', 'All clocks of the town strike at the same time, and clockmakers open their shops.', 'Emil Castellan', 7);
