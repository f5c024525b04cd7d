/** What is used of the library, in a file of its own: it is loaded with the first cluster only. */
export { KubeConfig } from '@kubernetes/client-node/dist/config.js';
