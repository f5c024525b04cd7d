/** Keys below `facts` of a search world: the rows of a database that its search results and pages are made of. */
import type { z } from 'zod';
import { expects, fault, group, listOf, path, text } from './values.ts';

const column = (example: string, about: string): z.ZodOptional<z.ZodString> =>
  text(example, 'the name of a column').optional().describe(about);
const columns = (example: string, about: string): z.ZodOptional<z.ZodArray<z.ZodString>> =>
  listOf(text(example, 'the name of a column'), 'a list of columns', `[${example}]`).optional().describe(about);

const factTable = group(
  {
    name: text('bridges', 'the name of a table').describe('The table. Each of its rows is a page.'),
    title: column('name', 'Column with the titles of the pages. Default: `title` or `name`.'),
    url: column(
      'url',
      'Column with the addresses of the pages. Default: `url`, if it exists; otherwise they are made.',
    ),
    date: column('opened', 'Column with the dates of the pages. Default: `date`, if it exists.'),
    text: columns(
      'about',
      'Columns that are searched, and from which snippets are taken. Sentences with an answer are left out of both. ' +
        'Default: none, so that a result shows only the title.',
    ),
    answers: columns(
      'length',
      'Columns that only pages show, and no search result. Default: all others, except the key.',
    ),
  },
  'a table',
  '{ name: bridges, title: name, text: [about], answers: [length] }',
);
export type FactTable = z.output<typeof factTable>;

export const factsSection = group(
  {
    database: path('facts.sqlite').describe(
      'A SQLite file, or a `.sql` file that creates one with `CREATE TABLE` and `INSERT`. It is read when a batch is ' +
        'submitted.',
    ),
    tables: listOf(factTable, 'a list of tables', '[{ name: bridges, title: name }]')
      .min(1, expects('at least one table', '[{ name: bridges, title: name }]'))
      .optional()
      .describe('The tables whose rows are pages. Default: all. `truth` can use all tables and columns.'),
    truth: text('SELECT length FROM bridges WHERE name = {{task.meta.bridge}}', 'a query')
      .optional()
      .describe(
        'A query that gives the expected answer of each task, when a batch is submitted. `{{task.meta.NAME}}` is a ' +
          'parameter. If it is nothing but `{{task.meta.NAME}}`, that column has the query of each task.',
      ),
  },
  'a group of keys with `database`',
  '{ database: facts.sqlite }',
).superRefine(({ tables = [] }, context) => {
  const names = new Set<string>();
  for (const [index, table] of tables.entries()) {
    if (names.has(table.name.toLowerCase()))
      fault(context, `the table \`${table.name}\` is listed twice`, 'Remove one of them.', {
        path: ['tables', index, 'name'],
        code: 'conflict',
      });
    names.add(table.name.toLowerCase());
    const used = new Set<string>();
    const { name: _, ...uses } = table;
    for (const [key, value] of Object.entries(uses))
      for (const name of value === undefined ? [] : [value].flat()) {
        if (used.has(name.toLowerCase()))
          fault(context, `the column \`${name}\` has two uses`, 'Remove it from one of them.', {
            path: ['tables', index, key],
            code: 'conflict',
          });
        used.add(name.toLowerCase());
      }
  }
});
export type FactsSection = z.output<typeof factsSection>;
