/** Text of trajectories: markup in it stays text. */
import { Ansi } from '../../text/ansi.tsx';
import { Markdown } from '../../text/markdown.tsx';
import { PlainText } from '../../text/plain.tsx';
import { story } from '../index.ts';
import { Sheet } from './controlStories.tsx';

const nothing = (): void => undefined;

const MARKDOWN = `# Renewals

Both loans run **to mid-May** now, *as asked*; \`renew_loan\` was called twice. See [the \
rules](https://example.org/rules).

1. find the member
2. renew the loans
   - loan 17
   - loan 23

> A member may renew three times.

| loan | due | renewals |
| --- | --- | ---: |
| 17 | 2026-05-08 | 3 |
| 23 | 2026-05-12 | 1 |

\`\`\`ts
throw new LimitError(loan, limit); // a line that is much longer than the page is wide, so that it must \
scroll
\`\`\`

---

<img src=x onerror="alert(1)"> <script>alert(2)</script> [bad](javascript:alert(3))
`;
story('text', 'markdown', () => (
  <Sheet title="Markdown">
    <Markdown text={MARKDOWN} onLink={nothing} />
  </Sheet>
));

const NAMES = ['black', 'red', 'green', 'yellow', 'blue', 'magenta', 'cyan', 'white'];
const ANSI = [
  ...NAMES.map((name, index) => `\u001b[3${index}m${name}\u001b[0m \u001b[9${index}mbright ${name}\u001b[0m`),
  '\u001b[1mbold\u001b[0m \u001b[2mdim\u001b[0m \u001b[4munderlined\u001b[0m',
  '\u001b[2J\u001b[10;10Hcursor moves are dropped',
].join('\n');
story('text', 'ansi', () => (
  <Sheet title="Output of a program">
    <Ansi text={ANSI} />
  </Sheet>
));

const LONG = Array.from(
  { length: 20_000 },
  (_, index) => `${index + 1}: the quick brown fox jumps over the lazy dog`,
).join('\n');
story('text', 'plain', () => (
  <Sheet title="Plain text">
    <PlainText text={'{"html": "<b>not bold</b>"}\nanother line'} />
  </Sheet>
));
story('text', 'plain-wrapped', () => (
  <Sheet title="One long line">
    <PlainText text={'word '.repeat(600)} wrap />
  </Sheet>
));
story('text', 'plain-long', () => (
  <Sheet title="20,000 lines">
    <PlainText text={LONG} label="Output" />
  </Sheet>
));
story('text', 'right-to-left', () => (
  <Sheet title="Other scripts">
    <PlainText text={'שלום עולם\n你好，世界\n👩‍👩‍👧 emoji \u202e reversed\u202c'} wrap />
  </Sheet>
));
