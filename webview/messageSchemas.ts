/** Message schemas. Creating them takes most of the time before a page can render, so start.ts does it separately. */
import '../src/protocol/api.ts';
import '../src/protocol/follow.ts';
import '../src/protocol/page.ts';
