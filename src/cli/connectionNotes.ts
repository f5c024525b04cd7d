/** Says when the connection of a command was lost: at once if it lasts, and only once if it drops again and again. */
import { Drops } from '../client/drops.ts';

/** Most connections are back before that, and nothing is missing. */
const QUIET_MS = 3_000;

/** Returns the handler of lost and restored connections. `end` stops it. */
export function connectionNotes(
  note: (text: string) => void,
  drops = new Drops(),
): { readonly lost: (lost: boolean) => void; readonly end: () => void } {
  let timer: NodeJS.Timeout | undefined;
  let isReported = false;
  let isUnstable = false;
  return {
    lost: (lost) => {
      clearTimeout(timer);
      if (!lost) {
        if (isReported) note('Reconnected.');
        isReported = false;
        if (drops.text === undefined) isUnstable = false;
        return;
      }
      drops.add();
      const { text } = drops;
      if (text !== undefined && !isUnstable) note(`${text}. Nothing is lost.`);
      isUnstable = text !== undefined;
      timer = setTimeout(() => {
        isReported = true;
        note('Lost the connection to the server. Reconnecting…');
      }, QUIET_MS);
      timer.unref();
    },
    end: () => clearTimeout(timer),
  };
}
