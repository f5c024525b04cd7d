/** All stories. Each shows one state of one part of the pages, with sample data, for tests and for developers. */
import type { ComponentChild } from 'preact';

interface Story {
  /** `part/name`, also its address. */
  readonly id: string;
  /** Whether it never stops loading. */
  readonly busy: boolean;
  readonly render: () => ComponentChild;
}

const stories = new Map<string, Story>();

/** Registers a story. `render` is called once each time the story is opened. */
export function story(
  part: string,
  name: string,
  render: () => ComponentChild,
  { busy = false }: { readonly busy?: boolean } = {},
): void {
  const id = `${part}/${name}`;
  if (stories.has(id)) throw new TypeError(`story ${id} is registered twice`);
  stories.set(id, { id, busy, render });
}

export function storyOf(id: string): Story | undefined {
  return stories.get(id);
}

/** Returns the IDs in the order of registration. */
export function storyIds(): string[] {
  return [...stories.keys()];
}
