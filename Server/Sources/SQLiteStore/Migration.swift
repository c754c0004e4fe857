import Foundation
import GRDB
import Records
import Sealing

/// One change of the schema. A released migration is never edited: a later change is a later migration.
struct Migration: Sendable {
    let name: String
    let run: @Sendable (Database, Sealing) throws -> Void

    /// All migrations, in their order. The number of a migration is its place in the list. Each feature declares its
    /// migrations beside its statements and adds them at the end of this list.
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
        .nameKeys, .registeredRules, .knownAddresses, .collidingNames,
    ]

    /// Adds the epoch, which names a stretch of the store's life. A restored backup begins another epoch.
    private static let epoch = Migration(name: "epoch") { db, _ in
        try db.execute(sql: "ALTER TABLE store_check ADD COLUMN epoch TEXT NOT NULL DEFAULT ''")
    }

    /// Adds the issuer: the address at which people are enrolled. An older store has no issuer until its server has
    /// started once.
    private static let issuer = Migration(name: "issuer") { db, _ in
        try db.execute(sql: "ALTER TABLE store_check ADD COLUMN issuer TEXT")
    }

    /// Runs the migrations that have not run: all of them, or none. Throws `newerSchema` if the database has run
    /// migrations that this program does not know. After an interrupted start the former program can still open the
    /// store, and a new store waits for only one write to the disk.
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
