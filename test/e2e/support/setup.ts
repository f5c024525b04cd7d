/** Installs the VS Code server the end-to-end tests run in; nothing to do when it is there. */
import { installCodeServer } from './server/install.ts';

console.log(`VS Code server: ${await installCodeServer()}`);
