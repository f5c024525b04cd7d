import { until } from './poll.ts';
import type { Workbench } from './workbench.ts';

/** Expands an item of a tree whose items move, until a child is visible. */
export async function expand(workbench: Workbench, item: RegExp, child: RegExp, patienceMs: number): Promise<void> {
  await until(
    async () => {
      if ((await workbench.treeItem(child).count()) > 0) return true;
      await workbench.treeItem(item).click();
      await workbench.page.keyboard.press('ArrowRight');
      return undefined;
    },
    patienceMs,
    `the items of ${item.source}`,
  );
}
