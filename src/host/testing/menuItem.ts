/** The item that a menu of the Testing view was opened on. */
import { z } from 'zod';

/** What of a `vscode.TestItem` tells which one it is. */
const item = z.object({
  id: z.string(),
  parent: z
    .object({ id: z.string() })
    .nullish()
    .transform((parent) => parent?.id),
});
export type MenuItem = z.infer<typeof item>;

/** undefined when it is none. */
export function menuItem(argument: unknown): MenuItem | undefined {
  return item.safeParse(argument).data;
}
