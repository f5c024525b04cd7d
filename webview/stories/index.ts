/** All stories: one state of one part of the pages each, with made-up data. For tests and for looking at. */
import type { ComponentChild } from 'preact';

interface Story {
  /** `part/name`: its address. */
  readonly id: string;
  /** Shows something that is still being loaded, for as long as one looks. */
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
  if (stories.has(id)) throw new TypeError(`there are two stories ${id}`);
  stories.set(id, { id, busy, render });
}

export function storyOf(id: string): Story | undefined {
  return stories.get(id);
}

/** In the order in which they were registered. */
export function storyIds(): string[] {
  return [...stories.keys()];
}
