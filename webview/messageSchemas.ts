/**
 * The schemas of messages from the server and the extension. Creating them takes most of the time before a page can be drawn, so it is a
 * separate step (start.ts).
 */
import '../src/protocol/api.ts';
import '../src/protocol/follow.ts';
import '../src/protocol/page.ts';
