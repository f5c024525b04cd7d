/**
 * The demo model's vocabulary: every byte (IDs 0–255), the marks of its chat template, pairs of lower-case letters,
 * runs of two and three digits, and words that are common at the sample's desk, each with and without a space before
 * it. IDs follow from the order here, so they change only with this file.
 */
export const MARKS = ['<|im_start|>', '<|im_end|>', '<think>', '</think>', '<tool_call>', '</tool_call>'] as const;

const WORDS =
  `a about add address again age all allow allowed already also amount an and another answer any are array as ask at \
author
available away back be because been before book books borrow borrowed borrows both brings but by call called calls \
can cannot card change
check checked close code content copies copy count current data date day days default demo describe description desk \
do does done due each
else end error euros every everything exact example expected expires false fee file find finds fine fines first \
following for format found
free from full function get give given gives has have he her him his hold holds house how id if in input integer into \
is it items its keep
kept know last late later lend library limit list lists loan loans longer look lookup make many maximum me member \
members message minimum
missing model more most much must my name names need never new next no none not nothing now null number object of off \
on once one only open
or order other otherwise out over overdue owe own parameters part path pattern pay paid pays per person place please \
position properties
public put question read reason reasons refused renew renewal renewals renewed renews reply request required result \
return returned returns
right road rule rules said same say schema score see she should so some string sum take takes tell text than that the \
their them then there
these they thing this those time title to today together told tool total true two type unpaid until up us use used \
user value wait waiting
waits want wants was way we were what when where which while who whom will with without word work world would write \
year yes you your`.split(/\s+/);

/** Entry i is the text of token `FIRST_TEXT + i`. */
export const FIRST_TEXT = 256;

export const TEXTS: readonly string[] = [
  ...MARKS,
  ...Array.from({ length: 26 * 26 }, (_, i) => String.fromCharCode(97 + Math.floor(i / 26), 97 + (i % 26))),
  ...Array.from({ length: 100 }, (_, i) => String(i).padStart(2, '0')),
  ...Array.from({ length: 1000 }, (_, i) => String(i).padStart(3, '0')),
  ...WORDS.filter((word) => word.length > 2), // those of two letters are pairs already
  ...WORDS.map((word) => ` ${word}`),
  ...WORDS.filter((word) => word.length > 1).map((word) => (word[0] ?? '').toUpperCase() + word.slice(1)),
  '{"',
  '":"',
  '","',
  '"}',
  '":',
  '":{"',
  '"},"',
  '\n\n',
  '  ',
  ', ',
  '. ',
  ': "',
];
