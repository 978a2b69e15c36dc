/** A name of browsers that the types of p-queue use. */
type AddEventListenerOptions = EventListenerOptions;
