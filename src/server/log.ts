/** The server's log: one line per thing that happened, for people, on stderr (its starter sends that to a file). */
export type Log = (text: string) => void;

export const stderrLog: Log = (text) => {
  process.stderr.write(`${new Date().toISOString()} ${text.replaceAll('\n', '\n  ')}\n`);
};
