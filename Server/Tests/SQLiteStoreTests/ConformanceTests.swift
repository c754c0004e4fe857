import Records
import SQLStore
import SQLiteStore
import Settings
import StoreConformance
import Testing

extension Limits {
    fileprivate init(handedOutTokens: Int) {
        self.init()
        self.handedOutTokens = handedOutTokens
    }
}

@Suite("SQLite store: the rules of every store")
struct ConformanceTests {
    @Test("accounts, devices, keys, trail and notices", arguments: AccountConformance.checks)
    func keepsTheRule(check: ConformanceCheck<any AccountStore & CeremonyStore & AuditStore & NoticeStore>)
        async throws
    {
        let store = try TemporaryStore()
        try await check.run(store.database)
        withExtendedLifetime(store) {}
    }

    /// A token that this process wrote goes to the writer at once, and one that it does not remember by a reader.
    private static let memories = [Limits().handedOutTokens, 3, 0]

    @Test("ceremonies", arguments: CeremonyConformance.checks, memories)
    func keepsTheRuleOfCeremonies(
        check: ConformanceCheck<any AccountStore & CeremonyStore & AuditStore & NoticeStore>, handedOutTokens: Int
    ) async throws {
        let store = try TemporaryStore(limits: Limits(handedOutTokens: handedOutTokens))
        try await check.run(store.database)
        withExtendedLifetime(store) {}
    }

    @Test("what goes with keys, devices and accounts", arguments: DeregistrationConformance.checks, memories)
    func keepsTheRuleOfDeregistration(
        check: ConformanceCheck<DeregistrationConformance.Subject>, handedOutTokens: Int
    ) async throws {
        let store = try TemporaryStore(limits: Limits(handedOutTokens: handedOutTokens))
        try await check.run(store.database)
        withExtendedLifetime(store) {}
    }

    @Test("the keys by which devices speak for themselves", arguments: DeviceIdentityConformance.checks)
    func keepsTheRuleOfDeviceIdentities(check: ConformanceCheck<any DeviceIdentityConformance.Subject>) async throws {
        let store = try TemporaryStore()
        try await check.run(store.database)
        withExtendedLifetime(store) {}
    }

    @Test("the attested keys of apps", arguments: AttestedAppConformance.checks)
    func keepsTheRuleOfAttestedApps(check: ConformanceCheck<any AttestedAppConformance.Subject>) async throws {
        let store = try TemporaryStore()
        try await check.run(store.database)
        withExtendedLifetime(store) {}
    }

    @Test("devices as targets of dispatches", arguments: DispatchTargetConformance.checks)
    func keepsTheRuleOfDispatchTargets(check: ConformanceCheck<any DispatchTargetConformance.Subject>) async throws {
        let store = try TemporaryStore()
        try await check.run(store.database)
        withExtendedLifetime(store) {}
    }

    @Test("devices that are reported as lost", arguments: LostDeviceConformance.checks)
    func keepsTheRuleOfLostDevices(check: ConformanceCheck<any LostDeviceConformance.Subject>) async throws {
        let store = try TemporaryStore()
        try await check.run(store.database)
        withExtendedLifetime(store) {}
    }

    @Test("clients that rest after a person has disowned a request", arguments: AskingRestConformance.checks)
    func keepsTheRuleOfRests(check: ConformanceCheck<any AskingRestConformance.Subject>) async throws {
        let store = try TemporaryStore()
        try await check.run(store.database)
        withExtendedLifetime(store) {}
    }

    @Test("messages to people's devices since their last success", arguments: PushCountConformance.checks)
    func keepsTheRuleOfPushes(check: ConformanceCheck<any PushCountConformance.Subject>) async throws {
        let store = try TemporaryStore()
        try await check.run(store.database)
        withExtendedLifetime(store) {}
    }

    @Test("sessions of personalised identities", arguments: IdentitySessionConformance.checks)
    func keepsTheRuleOfIdentitySessions(check: ConformanceCheck<IdentityConformanceSubject>) async throws {
        let store = try TemporaryStore()
        try await check.run(store.database)
        withExtendedLifetime(store) {}
    }

    @Test("activations, and offers of new ones", arguments: ActivationConformance.checks)
    func keepsTheRuleOfActivations(check: ConformanceCheck<IdentityConformanceSubject>) async throws {
        let store = try TemporaryStore()
        try await check.run(store.database)
        withExtendedLifetime(store) {}
    }

    @Test("the server's own keys for personalised identities", arguments: IdentityKeyConformance.checks)
    func keepsTheRuleOfIdentityKeys(check: ConformanceCheck<IdentityKeyConformance.Subject>) async throws {
        let store = try TemporaryStore()
        try await check.run(store.database)
        withExtendedLifetime(store) {}
    }

    @Test("what invented accounts look like", arguments: InventedAccountConformance.checks)
    func keepsTheRuleOfInventedAccounts(check: ConformanceCheck<any InventedAccountConformance.Subject>) async throws {
        let store = try TemporaryStore()
        try await check.run(store.database)
        withExtendedLifetime(store) {}
    }

    @Test("services of personalised identities, and roles", arguments: ServiceConformance.checks)
    func keepsTheRuleOfServices(check: ConformanceCheck<any IdentityStores>) async throws {
        let store = try TemporaryStore()
        try await check.run(store.database)
        withExtendedLifetime(store) {}
    }

    @Test("personal information", arguments: PersonalInformationConformance.checks)
    func keepsTheRuleOfPersonalInformation(check: ConformanceCheck<any IdentityStores>) async throws {
        let store = try TemporaryStore()
        try await check.run(store.database)
        withExtendedLifetime(store) {}
    }

    @Test("organisations and further addresses", arguments: OrganisationConformance.checks)
    func keepsTheRuleOfOrganisations(check: ConformanceCheck<any IdentityStores>) async throws {
        let store = try TemporaryStore()
        try await check.run(store.database)
        withExtendedLifetime(store) {}
    }

    @Test("invitations", arguments: InviteConformance.checks)
    func keepsTheRuleOfInvites(check: ConformanceCheck<any IdentityStores>) async throws {
        let store = try TemporaryStore()
        try await check.run(store.database)
        withExtendedLifetime(store) {}
    }

    @Test("administrators", arguments: AdministrationConformance.checks)
    func keepsTheRuleOfAdministration(check: ConformanceCheck<any AdministrationStore>) async throws {
        let store = try TemporaryStore()
        try await check.run(store.database)
        withExtendedLifetime(store) {}
    }

    @Test("terms that people agree to", arguments: TermsConformance.checks)
    func keepsTheRuleOfTerms(check: ConformanceCheck<TermsConformance.Subject>) async throws {
        let store = try TemporaryStore()
        try await check.run(store.database)
        withExtendedLifetime(store) {}
    }

    @Test("changes of accounts, and what rests of them", arguments: AccountChangeConformance.checks)
    func keepsTheRuleOfAccountChanges(check: ConformanceCheck<AccountChangeConformance.Subject>) async throws {
        let store = try TemporaryStore()
        try await check.run(store.database)
        withExtendedLifetime(store) {}
    }

    @Test("other providers", arguments: UpstreamConformance.checks)
    func keepsTheRuleOfOtherProviders(check: ConformanceCheck<UpstreamConformance.Subject>) async throws {
        let store = try TemporaryStore()
        try await check.run(store.database)
        withExtendedLifetime(store) {}
    }

    @Test("finished sign-ins", arguments: FinishedSignInConformance.checks)
    func keepsTheRuleOfFinishedSignIns(check: ConformanceCheck<FinishedSignInConformance.Subject>) async throws {
        let store = try TemporaryStore()
        try await check.run(store.database)
        withExtendedLifetime(store) {}
    }

    @Test("pushed requests", arguments: PushedRequestConformance.checks)
    func keepsTheRuleOfPushedRequests(check: ConformanceCheck<PushedRequestConformance.Subject>) async throws {
        let store = try TemporaryStore()
        try await check.run(store.database)
        withExtendedLifetime(store) {}
    }

    @Test("people who are asked without a browser", arguments: BackchannelConformance.checks)
    func keepsTheRuleOfBackchannelRequests(check: ConformanceCheck<BackchannelConformance.Subject>) async throws {
        let store = try TemporaryStore()
        try await check.run(store.database)
        withExtendedLifetime(store) {}
    }

    @Test("devices that wait for their person", arguments: DeviceCodeConformance.checks)
    func keepsTheRuleOfDeviceCodes(check: ConformanceCheck<DeviceCodeConformance.Subject>) async throws {
        let store = try TemporaryStore()
        try await check.run(store.database)
        withExtendedLifetime(store) {}
    }

    @Test("secrets by which apps sign in by each other", arguments: DeviceSecretConformance.checks)
    func keepsTheRuleOfDeviceSecrets(check: ConformanceCheck<DeviceSecretConformance.Subject>) async throws {
        let store = try TemporaryStore()
        try await check.run(store.database)
        withExtendedLifetime(store) {}
    }

    @Test("sessions of the app sign-in service", arguments: SignInServiceConformance.checks)
    func keepsTheRuleOfTheSignInService(check: ConformanceCheck<SignInServiceConformance.Subject>) async throws {
        let store = try TemporaryStore()
        try await check.run(store.database)
        withExtendedLifetime(store) {}
    }

    @Test("mail, and the links in it", arguments: MailConformance.checks)
    func keepsTheRuleOfMail(check: ConformanceCheck<any MailConformance.Subject>) async throws {
        let store = try TemporaryStore()
        try await check.run(store.database)
        withExtendedLifetime(store) {}
    }

    @Test("passwords, and signing in by them", arguments: PasswordConformance.checks)
    func keepsTheRuleOfPasswords(check: ConformanceCheck<any PasswordConformance.Subject>) async throws {
        let store = try TemporaryStore()
        try await check.run(store.database)
        withExtendedLifetime(store) {}
    }

    @Test("clients that register themselves", arguments: RegistrationConformance.checks)
    func keepsTheRuleOfRegistrations(check: ConformanceCheck<RegistrationConformance.Subject>) async throws {
        let store = try TemporaryStore()
        try await check.run(store.database)
        withExtendedLifetime(store) {}
    }

    @Test("messages to devices, and the channels of the outbox", arguments: OutboxConformance.checks)
    func keepsTheRuleOfTheOutbox(check: ConformanceCheck<any OutboxConformance.Subject>) async throws {
        let store = try TemporaryStore()
        try await check.run(store.database)
        withExtendedLifetime(store) {}
    }

    @Test("what clients have to be told", arguments: LogoutConformance.checks)
    func keepsTheRuleOfLogouts(check: ConformanceCheck<LogoutConformance.Subject>) async throws {
        let store = try TemporaryStore()
        try await check.run(store.database)
        withExtendedLifetime(store) {}
    }

    @Test("receipts, and the keys that sign them", arguments: ReceiptConformance.checks)
    func keepsTheRuleOfReceipts(check: ConformanceCheck<ReceiptConformance.Subject>) async throws {
        let store = try TemporaryStore()
        try await check.run(store.database)
        withExtendedLifetime(store) {}
    }

    @Test("lists of grants, and who is let in", arguments: GrantListConformance.checks)
    func keepsTheRuleOfGrantLists(check: ConformanceCheck<GrantListConformance.Subject>) async throws {
        let store = try TemporaryStore()
        try await check.run(store.database)
        withExtendedLifetime(store) {}
    }

    @Test("refresh tokens", arguments: RefreshConformance.checks, memories)
    func keepsTheRuleOfRefreshTokens(
        check: ConformanceCheck<RefreshConformance.Subject>, handedOutTokens: Int
    ) async throws {
        let store = try TemporaryStore(limits: Limits(handedOutTokens: handedOutTokens))
        try await check.run(store.database)
        withExtendedLifetime(store) {}
    }
}
