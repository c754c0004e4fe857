extension Limits {
    /// The times, counts and sizes of push messages.
    public struct Push: Sendable, Equatable {
        /// The age at which the token for Apple's service is made anew. Apple refuses a token after an hour, and refuses
        /// a second token within 20 minutes.
        public var providerTokenAge: Duration = .seconds(40 * 60)
        /// The life of a statement for an access token for Firebase. Google takes no longer one.
        public var accountStatementLifetime: Duration = .seconds(60 * 60)
        /// The time by which an access token for Firebase is exchanged before the token's end.
        public var accessTokenReserve: Duration = .seconds(5 * 60)
        /// The life of a signature for Web Push (VAPID). RFC 8292 allows a day.
        public var vapidLifetime: Duration = .seconds(12 * 60 * 60)
        /// The time after a success in which the credentials of a push service count as right. Past it a refused target
        /// does not end, because the fault may be in the settings.
        public var successAge: Duration = .seconds(60 * 60)
        /// The accounts with a refused target since the last success that stop a dispatcher without a recent success.
        /// With fewer accounts the message alone is dropped: a person can tell wrong addresses of the person's own
        /// devices, and must not stop the pushes of all.
        public var refusedAccounts = 3
        /// The refused targets in a row that stop a dispatcher, however recent its last success is, if the targets are
        /// of ``refusedAccounts`` accounts at least.
        public var refusedTargetsInARow = 10
        /// The longest wait that a push service can demand.
        public var longestWait: Duration = .seconds(24 * 60 * 60)
        /// The pause between two tries of a stopped dispatcher. A try that succeeds ends the stop.
        public var stoppedPause: Duration = .seconds(10 * 60)
        /// The push services whose state a node remembers. A further service takes the place of the service with the
        /// oldest state.
        public var rememberedServices = 1000
        /// The time for a call of a push service. It is shorter than the lease of a message.
        public var callTime: Duration = .seconds(10)
        /// The calls under way at once to each host that devices have named. Past it a call fails, and is tried again.
        public var callsPerNamedHost = 4
        /// The messages of each client to the devices of one person within ``Fixed/pushPeriod``, since the person's last
        /// success. Past it the client gets the usual answer, and no message is sent.
        public var pushesPerRequester = 3
        /// The messages of each client to the devices of one person within ``Fixed/pushDay``, since the person's last
        /// success. Past it the client gets the usual answer, and no message is sent.
        public var pushesPerRequesterDay = 10
        /// The messages of all clients to the devices of one person within ``Fixed/pushPeriod``, since the person's last
        /// success. Past it each client gets the usual answer, and no message is sent.
        public var pushesPerPerson = 3
        /// The messages of all clients to the devices of one person within ``Fixed/pushDay``, since the person's last
        /// success. Past it each client gets the usual answer, and no message is sent.
        public var pushesPerPersonDay = 10

        /// The defaults.
        public init() {}
    }
}
