/** Finds the reason in what a container wrote before it ended. */

/** An error as programs write it, also after what their log puts before it: `ValueError: No such file`. */
const ERROR = /(?:^|[\s(])((?:[A-Za-z_]\w*\.)*[A-Z]\w*(?:Error|Exception): ?\S.*)$/;
/** The last line of a traceback of Python, whose class may have any name: `botocore.errorfactory.NoSuchBucket: …`. */
const RAISED = /^(?:[a-z_]\w*\.)+[A-Z]\w*: ?\S.*$/;
/** Says only that another error was written before. */
const REFERS = /\b(?:root cause|initialization failed)\b/i;
/** Names the input only; what is wrong follows in the next line. */
const COUNTS = /\b\d+ validation errors? for \S+$/;
const MAX_CHARS = 300;

/** Returns the line that says most, or undefined if there is none. `log`: the end of it. */
export function crashReason(log: string): string | undefined {
  const lines = log
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '');
  const errors = lines.flatMap((line, index) => {
    const found = RAISED.exec(line)?.[0] ?? ERROR.exec(line)?.[1];
    if (found === undefined) return [];
    return COUNTS.test(found) ? [`${found}: ${lines[index + 1] ?? ''}`] : [found];
  });
  const reason = errors.findLast((text) => !REFERS.test(text)) ?? errors.at(-1) ?? lines.at(-1);
  return reason === undefined || reason.length <= MAX_CHARS ? reason : `${reason.slice(0, MAX_CHARS)}…`;
}
