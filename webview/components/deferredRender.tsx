/** Renders large content in a separate task, so that the rest of the page responds first. */
import type { ComponentChildren } from 'preact';
import { useLayoutEffect, useRef, useState } from 'preact/hooks';

/**
 * Renders its children immediately at first, and later changes in a task after the surrounding render, usually before
 * the next frame. Skips changes that arrive faster than they can be rendered, except the last.
 */
export function DeferredRender({ children }: { readonly children: ComponentChildren }) {
  const [current, setCurrent] = useState(children);
  const latest = useRef(children);
  const tasks = useRef<MessageChannel>(null);
  const isScheduled = useRef(false);
  latest.current = children;
  useLayoutEffect(() => {
    const channel = new MessageChannel();
    channel.port1.onmessage = () => {
      isScheduled.current = false;
      setCurrent(latest.current);
    };
    tasks.current = channel;
    return () => channel.port1.close();
  }, []);
  useLayoutEffect(() => {
    if (current === children || isScheduled.current) return;
    isScheduled.current = true;
    tasks.current?.port2.postMessage(undefined);
  }, [children]);
  return <>{current}</>;
}
