package import Accounts
package import Ceremony
package import CeremonyEngine
package import Endpoints
package import Logging
package import OAuthProvider
package import Records
package import Settings
package import UAFRelyingParty
package import _Primitives

/// The admin API: all operations of administrators, over the parts of a server.
package struct AdminAPI: Sendable {
    /// The protection of the API.
    package enum Guard: Sendable {
        /// A token. The function returns the administrator's id, or `nil` for a token that is not an administrator's.
        case token(@Sendable (String) async throws -> String?)
        /// The file mode of the socket: everybody who can open the socket may call.
        case socket
    }

    /// The parts of a server that operations of accounts, clients and tokens are made of.
    package struct Parts: Sendable {
        let provider: OpenIDProvider
        let directory: AccountDirectory
        let passwords: PasswordAccounts
        let grants: AccountGrants
        let registrations: ClientRegistrations
        let upstream: UpstreamProviders
        let administrators: Administrators
        let ceremonies: CeremonyEngine
        let identities: IdentityDirectory
        let mappingIDs: MappingIDs

        /// Names the parts.
        package init(
            provider: OpenIDProvider, directory: AccountDirectory, passwords: PasswordAccounts, grants: AccountGrants,
            registrations: ClientRegistrations, upstream: UpstreamProviders, administrators: Administrators,
            ceremonies: CeremonyEngine, identities: IdentityDirectory, mappingIDs: MappingIDs
        ) {
            self.provider = provider
            self.directory = directory
            self.passwords = passwords
            self.grants = grants
            self.registrations = registrations
            self.upstream = upstream
            self.administrators = administrators
            self.ceremonies = ceremonies
            self.identities = identities
            self.mappingIDs = mappingIDs
        }
    }

    /// The work of the running server that operators watch and begin.
    package struct Running: Sendable {
        let trail: any AuditStore
        let keys: any SealingKeyStore
        let resealing: Resealing
        let mailTest: MailTest?
        let outbox: any OutboxStore
        let lastMail: LastMail
        let reload: @Sendable (Logger) throws -> (metadata: MetadataCatalog, policies: PolicyCatalog)
        let trace: TraceRecorder?
        let logger: Logger

        /// Names the work.
        ///
        /// - Parameters:
        ///   - trail: The audit trail.
        ///   - keys: The names of the key-encryption keys.
        ///   - resealing: The progress of sealing values anew.
        ///   - mailTest: The test of mail; `nil` if the server sends no mail.
        ///   - outbox: The messages that wait.
        ///   - lastMail: The last letter that was not taken.
        ///   - reload: Reads the rules again; the logger names the operator.
        ///   - trace: The recorder of runs' events; `nil` if the server records no runs.
        ///   - logger: The server's log.
        package init(
            trail: any AuditStore, keys: any SealingKeyStore, resealing: Resealing, mailTest: MailTest?,
            outbox: any OutboxStore, lastMail: LastMail,
            reload: @escaping @Sendable (Logger) throws -> (metadata: MetadataCatalog, policies: PolicyCatalog),
            trace: TraceRecorder?, logger: Logger
        ) {
            self.trail = trail
            self.keys = keys
            self.resealing = resealing
            self.mailTest = mailTest
            self.outbox = outbox
            self.lastMail = lastMail
            self.reload = reload
            self.trace = trace
            self.logger = logger
        }
    }

    private let operations: [AdminOperation]
    private let bodyLimit: Int

    /// Creates the API of the server with the address `issuer`.
    package init(
        _ parts: Parts, _ running: Running, words: ClientSettingWords, issuer: String, limits: Limits, time: TimeSource
    ) {
        self.operations =
            AccountOperations(directory: parts.directory, lost: LostDevices(parts.passwords)).operations
            + PasswordOperations(passwords: PasswordDirectory(parts.passwords)).operations
            + ConsentOperations(directory: parts.directory, provider: parts.provider).operations
            + AccessOperations(directory: parts.directory, provider: parts.provider, grants: parts.grants).operations
            + ClientOperations(provider: parts.provider, words: words).operations
            + RegistrationOperations(registrations: parts.registrations).operations
            + UpstreamOperations(providers: parts.upstream, directory: parts.directory).operations
            + Self.identityOperations(parts, issuer: issuer, time: time)
            + EnrolmentOperations(enrolments: parts.ceremonies.enrolments, trace: running.trace).operations
            + TokenOperations(administrators: parts.administrators).operations
            + AuditOperations(trail: running.trail, pageSize: limits.pageSize).operations
            + KeyOperations(provider: parts.provider, store: running.keys, resealing: running.resealing).operations
            + MailOperations(
                test: running.mailTest, outbox: running.outbox, last: running.lastMail, logger: running.logger,
                time: time
            ).operations
            + RuleOperations(ceremonies: parts.ceremonies, logger: running.logger, reload: running.reload).operations
            + InventedAccountOperations(
                inventedAccounts: parts.ceremonies.inventedAccounts, proposalAccounts: limits.proposalAccounts
            ).operations
        self.bodyLimit = limits.bodyBytes
    }

    private static func identityOperations(_ parts: Parts, issuer: String, time: TimeSource) -> [AdminOperation] {
        let (identities, directory) = (parts.ceremonies.identities, parts.directory)
        return ServiceOperations(identities: parts.identities).operations
            + PersonalInformationOperations(identities: parts.identities).operations
            + ChoiceOperations(identities: parts.identities).operations
            + MappingIDOperations(mappingIDs: parts.mappingIDs).operations
            + OrganisationOperations(identities: parts.identities).operations
            + InviteOperations(identities: parts.identities, issuer: issuer).operations
            + IdentityKeyOperations(keys: identities.keys, provider: parts.provider, time: time).operations
            + ActivationCareOperations(identities: identities, directory: directory).operations
            + IdentitySessionOperations(sessions: identities.sessions, directory: directory).operations
            + AgreementOperations(identities: identities, directory: directory).operations
            + PersonalisationOperations(identities: identities, directory: directory, issuer: issuer).operations
    }

    /// Mounts the API on the public listener behind tokens, or on the local socket behind the socket's file mode.
    package func mount(on router: ServerRouter, guarding: Guard) {
        AdminRoutes(operations: self.operations, guarding: guarding, bodyLimit: self.bodyLimit).mount(on: router)
    }
}
