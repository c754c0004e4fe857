extension Limits {
    /// The times, counts and sizes of the OpenID provider that no other part has to know.
    public struct OAuth: Sendable, Equatable {
        /// How long a proof of a key (DPoP) counts from the moment that its client says that it was made. Past it:
        /// `invalid_dpop_proof`.
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
        /// How long a refresh token is still taken after it was used, of a client without a secret or a key: the answer
        /// may have been lost. Whoever shows it later is not the one whom it was given to, and the family ends.
        public var usedRefreshTokenLifetime: Duration = .seconds(60)
        /// How long clients may keep the key set and the discovery document.
        public var keySetLifetime: Duration = .seconds(5 * 60)
        /// How long a new signing key is in the key set before it signs: longer than anybody may keep a key set without
        /// it, and than nodes take to hear of it.
        public var keyAnnouncement: Duration = .seconds(10 * 60)
        /// How long a retired signing key can still be found in the key set.
        public var retiredKeyRetention: Duration = .seconds(24 * 60 * 60)
        /// How old an ID token may be that names a person as a hint at sign-in and sign-out.
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
        /// Codes of devices that are none and that people everywhere can type at once. Past it no code is looked for: 429,
        /// as a page. One source has ``Limits/guessBurst`` of them.
        public var deviceGuessBurst = 600
        /// Those that they can type each minute after that. Past it: 429, as a page.
        public var deviceGuessesPerMinute = 600
        /// How long a person has to answer whom a client has asked without a browser, where the client does not say. Past it:
        /// `expired_token`.
        public var backchannelRequestLifetime: Duration = .seconds(5 * 60)
        /// How long a client can have a person asked, at most.
        public var longestBackchannelRequest: Duration = .seconds(10 * 60)
        /// Redirect addresses of one client, and as many after signing out.
        public var addressesPerClient = 16
        /// Bytes of a client's keys (`jwks`).
        public var keySetBytes = 16_384
        /// How far the clock of a client that signs may be ahead, or behind.
        public var clientClockSkew: Duration = .seconds(30)
        /// How long what a client signs to say who it is can count: as long as common libraries make it without being told.
        public var assertionLifetime: Duration = .seconds(60 * 60)
        /// Clients of one server.
        public var clients = 1000

        /// The defaults.
        public init() {}
    }
}
