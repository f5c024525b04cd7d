/** Something large that is drawn in a task of its own, so that what is around it answers first. */
import type { ComponentChildren } from 'preact';
import { useLayoutEffect, useRef, useState } from 'preact/hooks';

/**
 * Draws its children at once when it comes, and each time they change in a task of its own, after that which drew what
 * is
 * around it and as a rule before the next frame. Of changes that come quicker than they are drawn the last one counts.
 */
export function DeferredRender({ children }: { readonly children: ComponentChildren }) {
  const [shown, show] = useState(children);
  const latest = useRef(children);
  const turns = useRef<MessageChannel>(null);
  const waits = useRef(false);
  latest.current = children;
  useLayoutEffect(() => {
    const channel = new MessageChannel();
    channel.port1.onmessage = () => {
      waits.current = false;
      show(latest.current);
    };
    turns.current = channel;
    return () => channel.port1.close();
  }, []);
  useLayoutEffect(() => {
    if (shown === children || waits.current) return;
    waits.current = true;
    turns.current?.port2.postMessage(undefined);
  }, [children]);
  return <>{shown}</>;
}
