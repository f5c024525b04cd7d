/**
 * The initial library. The members of the tasks (IDs below M-1030) are always the same; the other members and their
 * loans depend on the seed. It uses no clock and no `Math.random`, so the same seed gives the same library.
 */
import type { Row, Rows } from './database.ts';

const CARD_EXPIRES = '2027-01-31';

/** id, name, address */
const CAST: readonly (readonly [string, string, string])[] = [
  ['M-1001', 'Mira Okafor', '12 Quay Street'], ['M-1002', 'Jonas Lind', '3 Birch Row'], ['M-1003', 'Ada Moreno', '88 Castle Hill'],
  ['M-1004', 'Tomas Reyes', '5 Dyer Yard'], ['M-1005', 'Priya Nair', '41 Park Side'], ['M-1006', 'Leo Park', '9 Ferry Steps'],
  ['M-1007', 'Greta Holm', '16 Abbey Walk'], ['M-1008', 'Ben Adeyemi', '70 North Gate'], ['M-1009', 'Sofia Brandt', '2 Orchard Close'],
  ['M-1010', 'Ines Duarte', '33 Tannery Lane'], ['M-1011', 'Omar Haddad', '19 Weir Street'], ['M-1012', 'Anna Keller', '4 Mill Lane'],
  ['M-1013', 'Anna Keller', '27 Station Road'], ['M-1014', 'Elif Demir', '8 Harbour View'], ['M-1015', 'Deniz Demir', '8 Harbour View'],
  ['M-1016', 'Yusuf Clarke', '52 Queen Street'], ['M-1017', 'Hanna Virtanen', '6 Chapel Court'], ['M-1018', 'Paul Osei', '14 Bridge End'],
];

/** id, title, author, year, number of copies */
const BOOKS: readonly (readonly [string, string, string, number, number])[] = [
  ['B-201', 'The Salt Road', 'Ilse Varga', 2011, 2], ['B-202', 'Night Ferry', 'Pål Strand', 2004, 1],
  ['B-203', 'A Field Guide to Clouds', 'Ruth Amadi', 1998, 2], ['B-204', 'The Quiet Machine', 'Tessa Wren', 2019, 1],
  ['B-205', 'Bread and Iron', 'Marek Dolan', 1987, 2], ['B-206', 'Glass Harbour', 'Noor Salim', 2015, 1],
  ['B-207', "The Cartographer's Debt", 'Hugo Bexley', 2008, 1], ['B-208', 'Winter Orchard', 'Signe Aho', 2001, 1],
  ['B-209', 'Letters to a Lighthouse', 'Edna Crewe', 1979, 1], ['B-210', 'Small Engines', 'Tessa Wren', 2016, 2],
  ['B-211', 'The Ninth Bridge', 'Karel Moss', 1993, 1], ['B-212', 'Tin Whistle', 'Aoife Brannigan', 2013, 1],
  ['B-213', 'The Long Orchard', 'Signe Aho', 2009, 1], ['B-214', 'Copper Hill', 'Marek Dolan', 1991, 1],
  ['B-215', 'Salt and Feathers', 'Ilse Varga', 2018, 1], ['B-216', 'A Map of Rain', 'Ruth Amadi', 2006, 1],
  ['B-217', 'The Paper Garden', 'Yuna Seo', 2021, 1], ['B-218', 'Northbound', 'Karel Moss', 1999, 2],
  ['B-219', 'Riverglass', 'Noor Salim', 2020, 1], ['B-220', 'The Honey Clock', 'Edna Crewe', 1984, 1],
  ['B-221', 'Stones of the Delta', 'Hugo Bexley', 1996, 3], ['B-222', 'An Hour of Moths', 'Yuna Seo', 2017, 3],
  ['B-223', 'The Second Kitchen', 'Aoife Brannigan', 2010, 3], ['B-224', 'Under Blue Slate', 'Pål Strand', 2014, 3],
];

/** id, copy, member, due, renewals */
const LOANS: readonly (readonly [string, string, string, string, number])[] = [
  ['L-3001', 'C-201-1', 'M-1001', '2026-03-20', 0], ['L-3002', 'C-218-1', 'M-1001', '2026-03-27', 0],
  ['L-3003', 'C-202-1', 'M-1002', '2026-03-24', 0], ['L-3004', 'C-214-1', 'M-1002', '2026-03-30', 1],
  ['L-3005', 'C-201-2', 'M-1003', '2026-03-25', 0],
  ['L-3006', 'C-209-1', 'M-1005', '2026-03-02', 0], ['L-3007', 'C-210-1', 'M-1005', '2026-03-09', 1], ['L-3008', 'C-211-1', 'M-1005', '2026-03-30', 0],
  ['L-3009', 'C-204-1', 'M-1016', '2026-03-28', 0],
  ['L-3010', 'C-206-1', 'M-1008', '2026-03-18', 0], ['L-3011', 'C-210-2', 'M-1008', '2026-03-19', 0],
  ['L-3012', 'C-207-1', 'M-1009', '2026-03-07', 0], ['L-3013', 'C-203-1', 'M-1009', '2026-03-26', 0],
  ['L-3014', 'C-216-1', 'M-1011', '2026-03-19', 0], ['L-3015', 'C-217-1', 'M-1011', '2026-03-21', 2],
  ['L-3016', 'C-219-1', 'M-1011', '2026-03-17', 1], ['L-3017', 'C-220-1', 'M-1011', '2026-03-18', 0],
  ['L-3018', 'C-208-1', 'M-1012', '2026-03-10', 0], ['L-3019', 'C-215-1', 'M-1012', '2026-03-12', 1], ['L-3020', 'C-205-1', 'M-1012', '2026-03-29', 0],
  ['L-3021', 'C-221-1', 'M-1013', '2026-03-08', 0],
  ['L-3022', 'C-222-1', 'M-1014', '2026-03-11', 0], ['L-3023', 'C-223-1', 'M-1014', '2026-03-13', 1], ['L-3024', 'C-224-1', 'M-1014', '2026-03-31', 0],
  ['L-3025', 'C-213-1', 'M-1018', '2026-03-23', 0],
];

/** id, book, member, placed */
const HOLDS: readonly (readonly [string, string, string, string])[] = [
  ['H-401', 'B-206', 'M-1017', '2026-03-05'], ['H-402', 'B-207', 'M-1010', '2026-03-01'], ['H-403', 'B-220', 'M-1016', '2026-03-11'],
];

/** id, member, reason, cents, paid */
const FINES: readonly (readonly [string, string, string, number, string | null])[] = [
  ['F-501', 'M-1004', '"Northbound" returned late', 160, null], ['F-502', 'M-1004', '"Tin Whistle" returned late', 180, null],
  ['F-503', 'M-1004', 'lost card', 200, '2026-01-12'],
  ['F-504', 'M-1007', '"Copper Hill" returned late', 420, null], ['F-505', 'M-1007', 'torn cover', 300, null],
  ['F-506', 'M-1012', '"Riverglass" returned late', 220, null], ['F-507', 'M-1012', '"Night Ferry" returned late', 140, null],
  ['F-508', 'M-1013', 'lost card', 80, null],
  ['F-509', 'M-1015', '"Small Engines" returned late', 560, null],
];

const FIRST_NAMES = ['Alma', 'Bruno', 'Clara', 'David', 'Esther', 'Felix', 'Gita', 'Henrik', 'Iris', 'Jamal', 'Kira', 'Luis'];
const LAST_NAMES = ['Abara', 'Bloom', 'Costa', 'Dunne', 'Eklund', 'Farouk', 'Grant', 'Hoshi'];

export function seedRows(seed: number): Rows {
  const random = randomFrom(seed);
  const others: Row[] = [];
  const otherLoans: Row[] = [];
  for (let i = 0; i < 12; i++) {
    const id = `M-${1031 + i}`;
    const name = `${FIRST_NAMES[i] ?? ''} ${LAST_NAMES[random(LAST_NAMES.length)] ?? ''}`;
    others.push({ id, name, address: `${1 + random(90)} Market Street`, card_expires: CARD_EXPIRES });
  }
  // Lend copies 2 and 3 of the last four books, which no task needs.
  for (let i = 0; i < 8; i++) {
    const copy = `C-${221 + (i % 4)}-${2 + Math.floor(i / 4)}`;
    otherLoans.push(loan(`L-${3031 + i}`, copy, `M-${1031 + random(12)}`, `2026-03-${17 + random(13)}`, random(3)));
  }
  return {
    members: [...CAST.map(([id, name, address]) => ({ id, name, address, card_expires: CARD_EXPIRES })), ...others],
    books: BOOKS.map(([id, title, author, year]) => ({ id, title, author, year })),
    copies: BOOKS.flatMap(([id, , , , copies]) => Array.from({ length: copies }, (_, i) => ({ id: `C-${id.slice(2)}-${i + 1}`, book_id: id }))),
    loans: [...LOANS.map((row) => loan(...row)), ...otherLoans],
    holds: HOLDS.map(([id, book_id, member_id, placed]) => ({ id, book_id, member_id, placed, status: 'waiting', copy_id: null })),
    fines: FINES.map(([id, member_id, reason, cents, paid]) => ({ id, member_id, loan_id: null, reason, cents, paid })),
    journal: [],
  };
}

function loan(id: string, copy_id: string, member_id: string, due: string, renewals: number): Row {
  return { id, copy_id, member_id, borrowed: '2026-02-16', due, renewals, returned: null };
}

/** Returns a generator of integers below `n` (linear congruential, which is good enough here). */
function randomFrom(seed: number): (n: number) => number {
  let state = (seed ^ 0x9e3779b9) >>> 0;
  return (n) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return Math.floor((state / 2 ** 32) * n);
  };
}
