import Records
import Testing

@Suite("Decision 21: a restore keeps revocations, loses additions and refuses changes by others than the server")
struct BackupDifferenceTests {
    private static let treatments: [BackupDifference: BackupDifference.Treatment] = [
        .accountDeleted: .carriedOver, .accountLocked: .carriedOver, .deviceRevoked: .carriedOver,
        .deviceRested: .carriedOver,
        .keyDeregistered: .carriedOver, .counterAdvanced: .kept, .activationDisabled: .carriedOver,
        .clientDeleted: .carriedOver, .clientChanged: .carriedOver, .accountChanged: .carriedOver,
        .passwordChanged: .carriedOver, .inventedAccountsSet: .carriedOver, .providerRemoved: .carriedOver,
        .providerChanged: .carriedOver, .identityUnlinked: .carriedOver, .serviceRemoved: .carriedOver,
        .serviceChanged: .carriedOver, .organisationRemoved: .carriedOver, .organisationChanged: .carriedOver,
        .rolesChanged: .carriedOver, .personalInformationChanged: .carriedOver, .signingKeyAdded: .carriedOver,
        .signingKeyRotated: .carriedOver, .accountAdded: .lost, .accountUnlocked: .lost, .deviceAdded: .lost,
        .keyAdded: .lost, .clientAdded: .lost, .providerAdded: .lost, .identityLinked: .lost, .serviceAdded: .lost,
        .organisationAdded: .lost, .clientChangedOutside: .refused, .accountChangedOutside: .refused,
        .inventedAccountsChangedOutside: .refused, .providerChangedOutside: .refused,
        .serviceChangedOutside: .refused, .organisationChangedOutside: .refused,
    ]

    @Test("Each kind of difference has its treatment", arguments: BackupDifference.allCases)
    func treatment(kind: BackupDifference) {
        #expect(kind.treatment == Self.treatments[kind])
    }

    @Test(
        "Revocations stay unless they are undone, counters stay always, and nothing else stays",
        arguments: [
            (BackupDifference.Treatment.carriedOver, true, true), (.carriedOver, false, false), (.kept, true, true),
            (.kept, false, true), (.lost, true, false), (.lost, false, false), (.refused, true, false),
            (.refused, false, false),
        ])
    func kept(treatment: BackupDifference.Treatment, revocationsAreKept: Bool, isKept: Bool) {
        #expect(treatment.isKept(revocationsAre: revocationsAreKept) == isKept)
    }

    @Test("A difference of an account or a device is named by sealed names, and any other by a readable name")
    func subjects() {
        let kinds = Dictionary(grouping: BackupDifference.allCases, by: \.subject)
        #expect(
            kinds[.account] == [
                .accountDeleted, .accountLocked, .accountChanged, .passwordChanged, .rolesChanged,
                .personalInformationChanged, .accountAdded, .accountUnlocked, .accountChangedOutside,
            ])
        #expect(
            kinds[.device] == [
                .deviceRevoked, .deviceRested, .keyDeregistered, .counterAdvanced, .activationDisabled, .deviceAdded,
                .keyAdded,
            ])
        #expect(kinds[.named]?.count == BackupDifference.allCases.count - 16)
    }
}
