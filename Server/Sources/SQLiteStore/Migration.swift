import Foundation
import GRDB
import Store

/// One change of the schema. Never edited once released: a later change is a later migration.
struct Migration: Sendable {
    let name: String
    let run: @Sendable (Database, Sealing) throws -> Void

    /// All migrations, in their order; a migration's number is its place. Each feature declares its own beside its
    /// statements and adds it at the end of this list.
    static let all: [Migration] = [
        .foundation, .openID, .audit, .accounts, .ceremonies, .administration, .sessionLists,
        .noticeRetention, .devices, .attestations, .clientPermissions,
        .relyingParties, .deregisteredKeys, .deviceSecrets, .inventedAccounts, .epoch, .assurance,
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
        .nameKeys, .registeredRules,
    ]

    /// Which stretch of the store's life this is; a restored backup begins another one.
    private static let epoch = Migration(name: "epoch") { db, _ in
        try db.execute(sql: "ALTER TABLE store_check ADD COLUMN epoch TEXT NOT NULL DEFAULT ''")
    }

    /// The address that people are enrolled at. A store of before has none until its server has started once.
    private static let issuer = Migration(name: "issuer") { db, _ in
        try db.execute(sql: "ALTER TABLE store_check ADD COLUMN issuer TEXT")
    }

    /// Runs what has not run: all of it, or nothing. A start that breaks off leaves a store that the program of before can
    /// open, and a new store costs one write that is waited for.
    static func runAll(_ db: Database, _ sealing: Sealing) throws {
        let done = try Int.fetchOne(db, sql: "PRAGMA user_version") ?? 0
        guard done <= self.all.count else {
            throw StoreError(.newerSchema, "schema \(done), this program knows \(self.all.count)")
        }
        guard done < self.all.count else { return }
        try db.inTransaction(.immediate) {
            for migration in self.all.dropFirst(done) { try migration.run(db, sealing) }
            try db.execute(sql: "PRAGMA user_version = \(self.all.count)")
            return .commit
        }
    }
}
