/** A place as the fragment of an address, and back: `#token=…&rollout=r…&seq=12&tab=call`. */
export { placeFromParams, placeToParams } from '../../src/protocol/viewLink.ts';
