/** Installs the VS Code server that the end-to-end tests run in. Does nothing when it is installed. */
import { installCodeServer } from './server/install.ts';

console.log(`VS Code server: ${await installCodeServer()}`);
