extension Limits {
    /// The times, counts and sizes of the OpenID provider alone.
    public struct OAuth: Sendable, Equatable {
        /// The difference from the server's clock that the clock of a client may have when the client proves a key
        /// (DPoP), ahead or behind. The nonce says when a proof was made. Past it: `invalid_dpop_proof`.
        public var keyProofClockSkew: Duration = .seconds(5 * 60)
        /// The time for which a proof of a key (DPoP) counts after the moment that its client states, by a correct
        /// clock. Past it: `invalid_dpop_proof`.
        public var keyProofLifetime: Duration = .seconds(2 * 60)
        /// The time for which the server gives the same nonce to clients that prove a key. The server takes the nonce
        /// before, too. So a proof that was made ahead of its use is worth nothing after twice this time. Past it:
        /// `use_dpop_nonce`, with the present nonce.
        public var keyProofNonceLifetime: Duration = .seconds(5 * 60)
        /// The time for which a session stays signed in without being used for a sign-in. The absolute end of the
        /// session is ``Limits/sessionLifetime``.
        public var sessionIdleLifetime: Duration = .seconds(60 * 60)
        /// The life of an unused refresh token. Past it: `invalid_grant`.
        public var refreshTokenLifetime: Duration = .seconds(30 * 24 * 60 * 60)
        /// The time for a client to renew its tokens after one sign-in, however often. Past it: `invalid_grant`, and
        /// the person signs in again.
        public var lastingGrantLifetime: Duration = .seconds(45 * 24 * 60 * 60)
        /// The lasting grants (`offline_access`) of one client for one person: one for each device with the client's
        /// app. Past it the oldest grant ends, and the person signs in again on this device.
        public var lastingGrantsPerClient = 50
        /// The life of a statement about an ended session (OpenID Connect Back-Channel Logout 1.0, section 2.4: two
        /// minutes at most). Each delivery has a statement of its own.
        public var logoutTokenLifetime: Duration = .seconds(2 * 60)
        /// The time for telling a client about an ended session, with all retries. Past it the log and the audit trail
        /// say that the client was not told.
        public var logoutDeliveryLifetime: Duration = .seconds(24 * 60 * 60)
        /// The first pause before the server tries again to tell a client something. Each further pause is twice as
        /// long.
        public var deliveryRetryPause: Duration = .seconds(5)
        /// The longest pause before the server tries again to tell a client something.
        public var longestDeliveryRetryPause: Duration = .seconds(15 * 60)
        /// The time for a server to make a delivery after taking it. Then another server takes the delivery. The time
        /// is longer than a call lasts.
        public var deliveryLease: Duration = .seconds(60)
        /// The interval between two searches for waiting deliveries to clients. The server also searches after each
        /// delivery.
        public var deliveryInterval: Duration = .seconds(1)
        /// The deliveries to each client under way at once.
        public var deliveriesAtOncePerClient = 8
        /// The deliveries under way at once.
        public var deliveriesAtOnce = 64
        /// The longest time of a call to an address outside the server.
        public var outgoingCallTime: Duration = .seconds(10)
        /// The calls under way at once to addresses from clients (keys, logouts, answers). Past it a call fails, and is
        /// tried again like any other.
        public var outgoingCalls = 128
        /// The calls to each host under way at once, among the calls to addresses from clients. Past it a call fails,
        /// and is tried again like any other.
        public var outgoingCallsPerHost = 16
        /// The people who have come back from one other provider and for whom the server asks this provider at once.
        /// The others wait.
        public var arrivalsAtOncePerProvider = 32
        /// The people who have come back from other providers and for whom the server asks these providers at once. The
        /// others wait.
        public var arrivalsAtOnce = 128
        /// The people who wait until the server asks another provider for them. Past it: 503, as a page that leads
        /// back, and nothing is spent.
        public var waitingArrivals = 2000
        /// The longest wait of these people. The server checks the wait after each question to a provider. Past it: the
        /// same page.
        public var longestArrivalWait: Duration = .seconds(25)
        /// The time after its first use in which a refresh token still gives the same next token, for a client without
        /// a secret or a key. The answer may have been lost. A later use shows that the token is in other hands, and
        /// the family ends.
        public var usedRefreshTokenLifetime: Duration = .seconds(10 * 60)
        /// The time for clients to keep the key set and the discovery document.
        public var keySetLifetime: Duration = .seconds(5 * 60)
        /// The time for which a signing key signs. Past it a new key of the same algorithm signs. The new key has been
        /// in the key set for ``keyAnnouncement`` by then. Unless an operator rotates the keys, no key signs for less
        /// than ``retiredKeyRetention`` or ``Limits/sessionLifetime``, so that there are few signing keys.
        public var signingKeyLifetime: Duration = .seconds(90 * 24 * 60 * 60)
        /// The time for which a new signing key is in the key set before the key signs. The time is longer than any
        /// client may keep a key set without the new key, and longer than nodes take to hear of the key.
        public var keyAnnouncement: Duration = .seconds(10 * 60)
        /// The time for which a retired signing key stays in the key set.
        public var retiredKeyRetention: Duration = .seconds(24 * 60 * 60)
        /// The greatest age of an ID token that names a person as a hint. A sign-in refuses an older hint; a sign-out
        /// by an older hint asks the person, unless the hint is of the browser's own session.
        public var hintLifetime: Duration = .seconds(24 * 60 * 60)
        /// The longest time for taking a client's former secret beside the present secret.
        public var clientSecretOverlap: Duration = .seconds(30 * 24 * 60 * 60)
        /// The bytes of an encoded query or form.
        public var parameterBytes = 8192
        /// The characters of `state`.
        public var stateCharacters = 1024
        /// The characters of `nonce`.
        public var nonceCharacters = 512
        /// The time for a browser to come with a pushed request. Past it: an error page. FAPI 2.0 wants less than 600
        /// seconds.
        public var pushedRequestLifetime: Duration = .seconds(90)
        /// The requests that each client can push at once. Past it: 429, and the log names client and setting. A client
        /// without a secret or a key has this budget for each source, because anybody can push in the client's name.
        /// The strangers' clients of a network have one budget together, for all of their requests that name a client.
        public var pushedRequestBurst = 3000
        /// The requests that each client can push each minute after the burst. Past it: 429, and the log names client
        /// and setting.
        public var pushedRequestsPerMinute = 6000
        /// The time for a person to sign in a device without a browser. Past it: `expired_token`.
        public var deviceCodeLifetime: Duration = .seconds(10 * 60)
        /// The time after the end of a request in which the server still tells the reason. The asker is a device, or a
        /// client that has had a person asked.
        public var endedPollingRetention: Duration = .seconds(10 * 60)
        /// The devices that each client can have wait at once. Past it: 429, and the log names client and setting. A
        /// client without a secret or a key has this budget for each source, because anybody can ask in the client's
        /// name.
        public var deviceCodeBurst = 600
        /// The devices that each client can have wait each minute after the burst. Past it: 429, and the log names
        /// client and setting.
        public var deviceCodesPerMinute = 600
        /// The sign-ins by a device secret of one person's apps at once. Past it: 429. A wrong secret is counted for
        /// its source (``Limits/guessBurst``).
        public var nativeSignInBurst = 60
        /// The sign-ins by a device secret of one person's apps each minute after the burst. Past it: 429.
        public var nativeSignInsPerMinute = 30
        /// The time for a person to answer a client's request without a browser, if the client does not set a time.
        /// Past it: `expired_token`.
        public var backchannelRequestLifetime: Duration = .seconds(5 * 60)
        /// The longest time for a person to answer a client's request without a browser.
        public var longestBackchannelRequest: Duration = .seconds(10 * 60)
        /// The redirect addresses of each client, the number of its addresses for after signing out, and the number of
        /// its origins.
        public var addressesPerClient = 16
        /// The bytes of a client's keys (`jwks`).
        public var keySetBytes = 16_384
        /// The time for keeping a client's keys from the client's own address (`jwks_uri`), if the answer does not set
        /// a time.
        public var usualKeySetAge: Duration = .seconds(5 * 60)
        /// The longest time for keeping a client's keys from the client's own address, whatever the answer says.
        public var longestKeySetAge: Duration = .seconds(60 * 60)
        /// The extra time for using kept keys if the client's address does not answer with keys. Past it:
        /// `invalid_client`.
        public var keySetGrace: Duration = .seconds(24 * 60 * 60)
        /// The shortest time between two fetches of a client's keys: again for an unknown key, or after the address did
        /// not answer with keys. The time is a quarter of a code's life: a client that is told to ask again can do so
        /// while its code is good.
        public var keySetPause: Duration = .seconds(15)
        /// The waiting requests of a client while the client's keys are fetched. Past it: `invalid_client`. For the
        /// keys of another provider, ``waitingArrivals`` of its people can wait instead.
        public var keySetWaiters = 100
        /// The allowed difference between the server's clock and the clock of a signing client, ahead or behind.
        public var clientClockSkew: Duration = .seconds(30)
        /// The longest life of a client's signed assertion of its identity. Common libraries make assertions for as
        /// long by default.
        public var assertionLifetime: Duration = .seconds(60 * 60)
        /// The longest life of a client's signed request (`request`), from its beginning to its end.
        public var requestObjectLifetime: Duration = .seconds(60 * 60)
        /// The longest life of an initial access token for the registration of clients.
        public var initialTokenLifetime: Duration = .seconds(90 * 24 * 60 * 60)
        /// The largest number of registrations with one initial access token.
        public var initialTokenUses = 1000
        /// The number of valid initial access tokens at once.
        public var initialTokens = 100
        /// The clients of a server.
        public var clients = 1000
        /// The clients of strangers on a server: clients of open registration, and clients with a metadata document and
        /// people's consent. Strangers take no place of ``clients``. Past it: `temporarily_unavailable`.
        public var strangers = 500
        /// The age from which a stranger's client without a consent makes room for a new one, when all places are
        /// taken.
        public var unusedStrangerLifetime: Duration = .seconds(24 * 60 * 60)
        /// The open registrations of clients from each network at once. Past it: 429.
        public var openRegistrationBurst = 5
        /// The open registrations of clients from each network each minute after the burst. Past it: 429.
        public var openRegistrationsPerMinute = 1
        /// The metadata documents of clients fetched for each network at once. Past it: 429.
        public var clientDocumentBurst = 10
        /// The metadata documents of clients fetched for each network each minute after the burst. Past it: 429.
        public var clientDocumentsPerMinute = 10
        /// The metadata documents fetched from each host at once, for unused clients. Past it: 429.
        public var clientDocumentBurstPerHost = 10
        /// The metadata documents fetched from each host each minute after the burst, for unused clients. Past it: 429.
        public var clientDocumentsPerHostAndMinute = 10
        /// The time for keeping a client's metadata document. An answer can name a shorter time.
        public var clientDocumentAge: Duration = .seconds(60 * 60)
        /// The number of kept metadata documents.
        public var clientDocuments = 1000
        /// The calls under way at once for metadata documents and for the keys of strangers' clients. These calls take
        /// no place of ``outgoingCalls``.
        public var clientDocumentCalls = 32
        /// The other providers by which people can sign in.
        public var upstreamProviders = 32
        /// The time that a browser can spend at another provider for one sign-in. Past it: a page that begins anew.
        public var upstreamTripLifetime: Duration = .seconds(10 * 60)

        /// The defaults.
        public init() {}
    }
}
