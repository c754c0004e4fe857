/// The scope that a budget protects: one budget in this scope is spent by everybody who shares the scope.
///
/// One node keeps the budgets of all three scopes in memory, and they hold exactly. With several nodes, a budget of a
/// node still protects this node, a network gets one budget at each node, and a budget of a person must be shared by
/// all nodes.
public enum BudgetScope: String, Sendable, CaseIterable {
    /// The processor, memory and log of one process. Each node may have a budget of its own.
    case node
    /// The server, from the requests of one network. A network that reaches several nodes may have a budget at each.
    case network
    /// A person, a device, a client or a secret, from guesses and from too many questions. More nodes must not give
    /// more guesses.
    case person
}

/// The terms of a budget: its setting, its scope, its size, and the advice to a caller without budget.
public struct BudgetTerms: Sendable {
    /// The setting by which an operator raises the budget, as `--limits` takes it.
    public let setting: String
    /// The scope that the budget protects.
    public let scope: BudgetScope
    /// The calls that each source has at once.
    let burst: Int
    /// The calls that each source has each minute after its burst.
    let perMinute: Int
    /// The number of sources that are counted, of each client if `clients` is set.
    let sources: Int
    /// The number of clients that the sources belong to; `nil` if the sources belong to no client.
    let clients: Int?
    /// Advice to the caller.
    let remedy: String

    fileprivate init(
        _ setting: String, protects scope: BudgetScope, burst: Int, perMinute: Int, sources: Int, clients: Int? = nil,
        remedy: String = "Too many requests from this address."
    ) {
        self.setting = setting
        self.scope = scope
        self.burst = burst
        self.perMinute = perMinute
        self.sources = sources
        self.clients = clients
        self.remedy = remedy
    }
}

// MARK: - Budgets of networks

extension Limits {
    /// The budget of challenges at the request of a network.
    public var challenges: BudgetTerms {
        BudgetTerms(
            "challengesPerMinute", protects: .network, burst: self.challengeBurst, perMinute: self.challengesPerMinute,
            sources: self.countedSources)
    }

    /// The budget of sets of codes, and of changes that are counted as codes, on the pages of a network or by an
    /// activation.
    public var codes: BudgetTerms {
        BudgetTerms(
            "codesPerMinute", protects: .network, burst: self.codeBurst, perMinute: self.codesPerMinute,
            sources: self.countedSources)
    }

    /// The budget of worthless tokens, codes and secrets, and of requests without a valid proof, from a network.
    public var guesses: BudgetTerms {
        BudgetTerms(
            "guessesPerMinute", protects: .network, burst: self.guessBurst, perMinute: self.guessesPerMinute,
            sources: self.countedSources)
    }

    /// The budget of refused answers of phones from a network.
    public var refusals: BudgetTerms {
        BudgetTerms(
            "refusalsPerMinute", protects: .network, burst: self.refusalBurst, perMinute: self.refusalsPerMinute,
            sources: self.countedSources)
    }

    /// The budget of sign-ins that browsers of a network begin.
    public var signIns: BudgetTerms {
        BudgetTerms(
            "signInsPerMinute", protects: .network, burst: self.signInBurst, perMinute: self.signInsPerMinute,
            sources: self.countedSources)
    }

    /// The budget of passwords that a network tries.
    public var passwordTries: BudgetTerms {
        BudgetTerms(
            "passwordsPerMinute", protects: .network, burst: self.passwords.passwordBurst,
            perMinute: self.passwords.passwordsPerMinute, sources: self.countedSources)
    }

    /// The budget of mails that a network has sent to people.
    public var mailings: BudgetTerms {
        BudgetTerms(
            "mailsPerMinute", protects: .network, burst: self.mail.mailBurst, perMinute: self.mail.mailsPerMinute,
            sources: self.countedSources)
    }

    /// The budget of clients that register from a network without a token.
    public var openRegistrations: BudgetTerms {
        BudgetTerms(
            "openRegistrationsPerMinute", protects: .network, burst: self.oauth.openRegistrationBurst,
            perMinute: self.oauth.openRegistrationsPerMinute, sources: self.countedSources)
    }

    /// The budget of metadata documents of clients that are fetched for a network.
    public var clientDocuments: BudgetTerms {
        BudgetTerms(
            "clientDocumentsPerMinute", protects: .network, burst: self.oauth.clientDocumentBurst,
            perMinute: self.oauth.clientDocumentsPerMinute, sources: self.countedSources)
    }

    /// The budget of metadata documents of clients that are fetched from one host.
    public var clientDocumentsOfHost: BudgetTerms {
        BudgetTerms(
            "clientDocumentsPerHostAndMinute", protects: .network, burst: self.oauth.clientDocumentBurstPerHost,
            perMinute: self.oauth.clientDocumentsPerHostAndMinute, sources: self.countedSources,
            remedy: "Too many services of this host are new here. Wait.")
    }
}

// MARK: - Budgets of people, devices and clients

extension Limits {
    /// The budget of proven requests of a device.
    public var provenRequests: BudgetTerms {
        BudgetTerms(
            "provenRequestsPerMinute", protects: .person, burst: self.provenRequestBurst,
            perMinute: self.provenRequestsPerMinute, sources: self.countedSources,
            remedy: "Too many requests from this device.")
    }

    /// The budget of changes of a device's dispatch target.
    public var targetChanges: BudgetTerms {
        BudgetTerms(
            "targetChangesPerMinute", protects: .person, burst: self.targetChangeBurst,
            perMinute: self.targetChangesPerMinute, sources: self.countedSources,
            remedy: "This device has changed its target too often.")
    }

    /// The budget of approvals of new devices that a device begins.
    public var deviceApprovals: BudgetTerms {
        BudgetTerms(
            "deviceApprovalsPerMinute", protects: .person, burst: self.deviceApprovalBurst,
            perMinute: self.deviceApprovalsPerMinute, sources: self.countedSources,
            remedy: "This device has begun too many approvals of new devices.")
    }

    /// The budget of a client's dispatches to named people.
    public var dispatches: BudgetTerms {
        BudgetTerms(
            "dispatchesPerMinute", protects: .person, burst: self.dispatchBurst, perMinute: self.dispatchesPerMinute,
            sources: self.countedSources,
            remedy: "This client has dispatched too often. Wait, or have the operator raise dispatchesPerMinute.")
    }

    /// The budget of a client's dispatches without a named person.
    public var openDispatches: BudgetTerms {
        BudgetTerms(
            "openDispatchesPerMinute", protects: .person, burst: self.openDispatchBurst,
            perMinute: self.openDispatchesPerMinute, sources: self.countedSources,
            remedy:
                "This client has dispatched too often without a subject. Wait, dispatch with one, or have the operator "
                + "raise openDispatchesPerMinute.")
    }

    /// The budget of a client's dispatches to one person.
    public var personDispatches: BudgetTerms {
        BudgetTerms(
            "personDispatchesPerMinute", protects: .person, burst: self.personDispatchBurst,
            perMinute: self.personDispatchesPerMinute, sources: self.countedPersons, clients: self.oauth.clients,
            remedy:
                "This client has dispatched to this subject too often. Wait until what it was sent is answered or over, "
                + "or have the operator raise personDispatchesPerMinute.")
    }

    /// The budget of a person's sign-ins by the tokens of another app on the same device. Each showing of a right
    /// secret costs a signature and a grant.
    public var nativeSignIns: BudgetTerms {
        BudgetTerms(
            "nativeSignInsPerMinute", protects: .person, burst: self.oauth.nativeSignInBurst,
            perMinute: self.oauth.nativeSignInsPerMinute, sources: self.countedSources,
            remedy: "This person's apps have signed in by each other too often. Wait.")
    }

    /// The budget of a client's devices that wait for a person (RFC 8628).
    public var deviceCodes: BudgetTerms {
        BudgetTerms(
            "deviceCodesPerMinute", protects: .person, burst: self.oauth.deviceCodeBurst,
            perMinute: self.oauth.deviceCodesPerMinute, sources: self.countedSources, clients: self.oauth.clients,
            remedy: "This client has too many devices wait. Wait, or have the operator raise deviceCodesPerMinute.")
    }

    /// The budget of a client's pushed authorization requests (RFC 9126), and of all requests of the strangers' clients
    /// of a network.
    public var pushedRequests: BudgetTerms {
        BudgetTerms(
            "pushedRequestsPerMinute", protects: .person, burst: self.oauth.pushedRequestBurst,
            perMinute: self.oauth.pushedRequestsPerMinute, sources: self.countedSources, clients: self.oauth.clients,
            remedy:
                "This client has pushed too many requests, or the clients of strangers on this network have sent too "
                + "many. Wait, or have the operator raise pushedRequestsPerMinute.")
    }
}
