/** Chooses the tabs that have room. */

/** Pixels between two tabs, and for the button that lists the others. */
export const TAB_GAP = 16;
const MORE_PX = 28;

/** Returns the indexes of the tabs to show, in order: from the left, and always the selected one. */
export function tabsInRoom(widths: readonly number[], room: number, selected: number): number[] {
  const all = [...widths.keys()];
  const size = (shown: readonly number[]): number =>
    shown.reduce((sum, index) => sum + (widths[index] ?? 0), 0) + TAB_GAP * Math.max(0, shown.length - 1);
  if (size(all) <= room) return all;
  const left = room - MORE_PX - TAB_GAP;
  for (let count = all.length - 1; count > 0; count--) {
    const first = all.slice(0, count);
    const shown = selected < count ? first : [...all.slice(0, count - 1), selected];
    if (size(shown) <= left) return shown;
  }
  return selected in widths ? [selected] : all.slice(0, 1);
}
