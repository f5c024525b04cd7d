// Tabs that have no room.
import assert from 'node:assert/strict';
import { it } from 'node:test';
import { tabsInRoom } from '../../../webview/components/tabsInRoom.ts';

it('shows the tabs that have room, and always the selected one', () => {
  const widths = [30, 60, 40, 50, 45, 25];
  const all = 30 + 60 + 40 + 50 + 45 + 25 + 5 * 16;
  assert.deepEqual(tabsInRoom(widths, all, 0), [0, 1, 2, 3, 4, 5]);
  assert.deepEqual(tabsInRoom(widths, all - 1, 0), [0, 1, 2, 3], 'two give way to the menu');
  assert.deepEqual(tabsInRoom(widths, all - 1, 5), [0, 1, 2, 3, 5]);
  assert.deepEqual(tabsInRoom(widths, 211, 4), [0, 1, 4]);
  assert.deepEqual(tabsInRoom(widths, 10, 3), [3]);
  assert.deepEqual(tabsInRoom([], 10, -1), []);
});
