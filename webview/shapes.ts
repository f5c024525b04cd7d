/**
 * The shapes of what a server and a host say: by far the most of what happens before a page can be drawn, and so a step
 * of its own (start.ts).
 */
import '../src/protocol/api.ts';
import '../src/protocol/follow.ts';
import '../src/protocol/page.ts';
