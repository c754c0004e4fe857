public import Records
public import SQLStore
public import Sealing
public import Settings

extension Migration {
    /// All migrations, in their order. The number of a migration is its place in the list. Each feature declares its
    /// migrations in the file of its group, in this folder, and adds them at the end of this list.
    static let all: [Migration] = [
        .foundation, .openID, .audit, .accounts, .ceremonies, .administration, .sessionLists,
        .noticeRetention, .devices, .attestations, .clientPermissions,
        .relyingParties, .deregisteredKeys, .enrolmentSecrets, .inventedAccounts, .epoch, .assurance,
        .staleCeremonies, .auditAddresses, .clientSecrets, .boundKeys, .issuer, .clientHomes, .pictureDisplays,
        .composedNames, .authentications, .clientKinds, .refreshTokens, .shownOnce, .keyBindings,
        .pushedRequests, .requestWishes, .deviceCodes, .resources, .passwords, .signInMethods, .clientProfiles,
        .contacts, .grantClaims, .consents, .grantLists, .logoutOutbox, .clientKeyAddresses, .clientRegistrations,
        .backchannelRequests, .authorizationDetails, .deviceSecretsOfApps, .clientOutbox, .clientCertificates,
        .mail, .upstreamProviders, .terms, .sealingKeys, .disabledClients, .directSignIn, .resetAsks, .signInService,
        .upstreamLevels, .upstreamSignOuts, .identitySessions, .fewerGrantIndexes, .identities,
        .authenticationRoles, .letters, .deviceIdentities, .askedInvites, .linkedAddresses, .identityConsents,
        .forsakenAttempts, .historyByAge, .refreshSteps, .mailTurns, .consentSessions, .accountChanges,
        .openedElsewhere, .browserlessSessions, .knownBrowsers, .assertionAudiences, .profiles,
        .nameKeys, .registeredRules, .knownAddresses, .collidingNames, .deniedDevices, .languages,
        .deliveredAnswers, .endedAuthentications, .finishedSignIns, .oneOutbox, .dispatchTargets,
        .ceremonyTargets, .statusAddresses, .denials, .matchedNumbers, .receipts, .pushCounts,
        .deviceStanding, .attestedApps, .judgedAnswers,
    ]
}

extension SQLStore {
    /// Opens the store in `folder` and brings its schema up to date. Makes the folder if it does not exist (mode 0700).
    ///
    /// Blocks; called once, before anything is served. `measure` receives the duration of every step and every read.
    /// Throws ``StoreError``: `locked` if another process holds the folder, `wrongKey`, `missingKey`, `newerSchema`,
    /// `corrupt`, `unavailable`.
    public convenience init(
        folder: String, keys: KeyRing, limits: Limits = Limits(),
        measure: @escaping @Sendable (StoreMeasurement) -> Void = { _ in }
    ) throws {
        try self.init(folder: folder, keys: keys, limits: limits, measure: measure) { try $0.synchronize() }
    }

    /// Opens the store as ``init(folder:keys:limits:measure:)`` does, for a test that simulates the disk or decorates the
    /// database: `synchronize` has to make the bytes in the log durable, and the store uses the database that `decorate`
    /// returns for the opened one.
    package convenience init(
        folder: String, keys: KeyRing, limits: Limits = Limits(),
        measure: @escaping @Sendable (StoreMeasurement) -> Void = { _ in },
        synchronize: @escaping @Sendable (LogFile) throws -> Void,
        decorate: (any SQLDatabase) -> any SQLDatabase = { $0 }
    ) throws {
        let database = try SQLiteDatabase(
            folder: folder, keys: keys, limits: limits, migrations: Migration.all, measure: measure,
            synchronize: synchronize)
        self.init(in: decorate(database), limits: limits)
    }

    /// Opens a store that needs only one key.
    public convenience init(
        folder: String, key: KeyEncryptionKey, limits: Limits = Limits(),
        measure: @escaping @Sendable (StoreMeasurement) -> Void = { _ in }
    ) throws {
        try self.init(folder: folder, keys: KeyRing(key), limits: limits, measure: measure)
    }
}
