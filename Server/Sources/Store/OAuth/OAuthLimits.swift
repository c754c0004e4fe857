extension Limits {
    /// The times, counts and sizes of the OpenID provider that no other part has to know.
    public struct OAuth: Sendable, Equatable {
        /// How far the clock of a client that proves a key (DPoP) may be ahead or behind: the nonce says when a proof was made.
        /// Past it: `invalid_dpop_proof`.
        public var keyProofClockSkew: Duration = .seconds(5 * 60)
        /// How long a proof of a key (DPoP) counts from the moment that its client says that it was made, by a clock that is
        /// right. Past it: `invalid_dpop_proof`.
        public var keyProofLifetime: Duration = .seconds(2 * 60)
        /// How long the server gives the same nonce to whoever proves a key. It takes the one before, too: a proof that was
        /// made ahead of its use is worth nothing after twice this time. Past it: `use_dpop_nonce`, with the present one.
        public var keyProofNonceLifetime: Duration = .seconds(5 * 60)
        /// How long a session that is not used for a sign-in stays signed in. Its absolute end is
        /// ``Limits/sessionLifetime``.
        public var sessionIdleLifetime: Duration = .seconds(60 * 60)
        /// How long a refresh token is valid that is not used. Past it: `invalid_grant`.
        public var refreshTokenLifetime: Duration = .seconds(30 * 24 * 60 * 60)
        /// How long a client can renew its tokens after one sign-in, however often it does. Past it: `invalid_grant`, and
        /// the person signs in again.
        public var lastingGrantLifetime: Duration = .seconds(45 * 24 * 60 * 60)
        /// Lasting grants (`offline_access`) that one client can have of one person: one for each device that the client's
        /// app is signed in on. Past it the oldest ends, and the person signs in again there.
        public var lastingGrantsPerClient = 50
        /// How long a statement that a session has ended is valid (OpenID Connect Back-Channel Logout 1.0, section 2.4: two
        /// minutes at most). Each delivery has one of its own.
        public var logoutTokenLifetime: Duration = .seconds(2 * 60)
        /// For how long it is tried to tell a client that a session has ended. Past it the log and the audit trail say that
        /// the client was not told.
        public var logoutDeliveryLifetime: Duration = .seconds(24 * 60 * 60)
        /// After how long it is tried again to tell a client something, for the first time; each time it is twice as long.
        public var deliveryRetryPause: Duration = .seconds(5)
        /// After how long it is tried again, at most.
        public var longestDeliveryRetryPause: Duration = .seconds(15 * 60)
        /// How long a server has for a delivery that it has taken, before another one takes it: longer than a call lasts.
        public var deliveryLease: Duration = .seconds(60)
        /// How often the server looks whether a client has to be told something, beside each time that a delivery is over.
        public var deliveryInterval: Duration = .seconds(1)
        /// Deliveries to one client that are under way at once.
        public var deliveriesAtOncePerClient = 8
        /// Deliveries that are under way at once.
        public var deliveriesAtOnce = 64
        /// How long a call to an address of somebody else's can last.
        public var outgoingCallTime: Duration = .seconds(10)
        /// Calls to addresses that clients have named (keys, logouts, answers) that are under way at once. Past it a call
        /// fails, and is tried again like any other.
        public var outgoingCalls = 128
        /// Those to one host that are under way at once. Past it a call fails, and is tried again like any other.
        public var outgoingCallsPerHost = 16
        /// People who have come back from one other provider and for whom it is asked at once. The others wait.
        public var arrivalsAtOncePerProvider = 32
        /// People who have come back from other providers and for whom these are asked at once. The others wait.
        public var arrivalsAtOnce = 128
        /// People who wait for that. Past it: 503, as a page that leads back, and nothing is spent.
        public var waitingArrivals = 2000
        /// How long they wait, which is looked at whenever somebody has been asked for. Past it: the same page.
        public var longestArrivalWait: Duration = .seconds(25)
        /// How long after its first use a refresh token still gives the same next token, of a client without a secret or a
        /// key: the answer may have been lost. Whoever shows the token later is not the one whom it was given to, and the
        /// family ends.
        public var usedRefreshTokenLifetime: Duration = .seconds(10 * 60)
        /// How long clients may keep the key set and the discovery document.
        public var keySetLifetime: Duration = .seconds(5 * 60)
        /// How long a signing key signs. Past it a new one of its algorithm does, which has been in the key set for
        /// ``keyAnnouncement`` by then. No key signs for less than ``retiredKeyRetention``, so that there are few of them.
        public var signingKeyLifetime: Duration = .seconds(90 * 24 * 60 * 60)
        /// How long a new signing key is in the key set before it signs: longer than anybody may keep a key set without
        /// it, and than nodes take to hear of it.
        public var keyAnnouncement: Duration = .seconds(10 * 60)
        /// How long a retired signing key can still be found in the key set.
        public var retiredKeyRetention: Duration = .seconds(24 * 60 * 60)
        /// The greatest age of an ID token that names a person as a hint. A sign-in refuses an older hint; a sign-out by an
        /// older hint asks the person, unless the hint is of the browser's own session.
        public var hintLifetime: Duration = .seconds(24 * 60 * 60)
        /// How long a client's former secret can be taken beside its present one, at most.
        public var clientSecretOverlap: Duration = .seconds(30 * 24 * 60 * 60)
        /// Bytes of an encoded query or form.
        public var parameterBytes = 8192
        /// Characters of `state`.
        public var stateCharacters = 1024
        /// Characters of `nonce`.
        public var nonceCharacters = 512
        /// How long a browser can come with a request that its client has pushed. Past it: an error page. FAPI 2.0 wants
        /// less than 600 seconds.
        public var pushedRequestLifetime: Duration = .seconds(90)
        /// Requests that one client can push at once. Past it: 429, and the log names client and setting. A client without
        /// a secret or a key has as many for each source, as anybody can push in its name.
        public var pushedRequestBurst = 3000
        /// Requests that it can push each minute after that. Past it: 429, and the log names client and setting.
        public var pushedRequestsPerMinute = 6000
        /// How long a person has to sign in a device that has no browser. Past it: `expired_token`.
        public var deviceCodeLifetime: Duration = .seconds(10 * 60)
        /// How long a device, or a client that has had somebody asked, is told why when it asks after the end.
        public var endedPollingRetention: Duration = .seconds(10 * 60)
        /// Devices that one client can have wait at once. Past it: 429, and the log names client and setting. A client
        /// without a secret or a key has as many for each source, as anybody can ask in its name.
        public var deviceCodeBurst = 600
        /// Devices that it can have wait each minute after that. Past it: 429, and the log names client and setting.
        public var deviceCodesPerMinute = 600
        /// Sign-ins by a device secret that one person's apps can have at once. Past it: 429. A secret that is not right is
        /// counted for its source (``Limits/guessBurst``).
        public var nativeSignInBurst = 60
        /// Those that they can have each minute after that. Past it: 429.
        public var nativeSignInsPerMinute = 30
        /// How long a person has to answer whom a client has asked without a browser, where the client does not say. Past it:
        /// `expired_token`.
        public var backchannelRequestLifetime: Duration = .seconds(5 * 60)
        /// How long a client can have a person asked, at most.
        public var longestBackchannelRequest: Duration = .seconds(10 * 60)
        /// Redirect addresses of one client, and as many after signing out.
        public var addressesPerClient = 16
        /// Bytes of a client's keys (`jwks`).
        public var keySetBytes = 16_384
        /// How long the keys of a client are kept that are at an address of its own (`jwks_uri`), where the answer does not
        /// say.
        public var usualKeySetAge: Duration = .seconds(5 * 60)
        /// How long they are kept, whatever the answer says.
        public var longestKeySetAge: Duration = .seconds(60 * 60)
        /// How much longer they are taken where the address does not answer with keys. Past it: `invalid_client`.
        public var keySetGrace: Duration = .seconds(24 * 60 * 60)
        /// How often they are fetched at most: again for a key that was not among them, or where the address did not answer
        /// with keys. A quarter of a code's life: a client that is told to ask again can do so while its code is good.
        public var keySetPause: Duration = .seconds(15)
        /// Requests of a client that can wait while its keys are fetched. Past it: `invalid_client`. While another provider
        /// says where it is ``waitingArrivals`` of its people can.
        public var keySetWaiters = 100
        /// How far the clock of a client that signs may be ahead, or behind.
        public var clientClockSkew: Duration = .seconds(30)
        /// How long what a client signs to say who it is can count: as long as common libraries make it without being told.
        public var assertionLifetime: Duration = .seconds(60 * 60)
        /// How long a request that a client signs (`request`) can count, from the moment that it begins to until it ends.
        public var requestObjectLifetime: Duration = .seconds(60 * 60)
        /// How long an initial access token lasts that lets clients register themselves, at most.
        public var initialTokenLifetime: Duration = .seconds(90 * 24 * 60 * 60)
        /// Clients that can be registered by one, at most.
        public var initialTokenUses = 1000
        /// Initial access tokens that are worth something at once.
        public var initialTokens = 100
        /// Clients of one server.
        public var clients = 1000
        /// Clients of strangers on one server: of open registration, and those with a metadata document that people have let
        /// have something. They take no place of ``clients``. Past it: `temporarily_unavailable`.
        public var strangers = 500
        /// The age from which a stranger's client without a consent makes room for a new one, when all places are taken.
        public var unusedStrangerLifetime: Duration = .seconds(24 * 60 * 60)
        /// Clients that one network can register at once by open registration. Past it: 429.
        public var openRegistrationBurst = 5
        /// Clients that one network can register each minute after that. Past it: 429.
        public var openRegistrationsPerMinute = 1
        /// Metadata documents of clients that one network can have fetched at once. Past it: 429.
        public var clientDocumentBurst = 10
        /// Metadata documents that one network can have fetched each minute after that. Past it: 429.
        public var clientDocumentsPerMinute = 10
        /// Metadata documents that are fetched from one host at once, for clients that nobody has used yet. Past it: 429.
        public var clientDocumentBurstPerHost = 10
        /// Metadata documents that are fetched from one host each minute after that. Past it: 429.
        public var clientDocumentsPerHostAndMinute = 10
        /// The time for which a client's metadata document is kept. An answer can name a shorter one.
        public var clientDocumentAge: Duration = .seconds(60 * 60)
        /// Metadata documents that are kept.
        public var clientDocuments = 1000
        /// Calls for metadata documents and for the keys of strangers' clients that are under way at once. They take no place
        /// of ``outgoingCalls``.
        public var clientDocumentCalls = 32
        /// Other providers by which people can sign in.
        public var upstreamProviders = 32
        /// How long a browser can be at another provider for one sign-in. Past it: a page that begins anew.
        public var upstreamTripLifetime: Duration = .seconds(10 * 60)

        /// The defaults.
        public init() {}
    }
}
