public import _Primitives

/// A budget that has run out, as the asker and the operator's log are told. An endpoint that throws it answers 429.
public struct Shortage: Error, Hashable {
    /// The setting by which an operator raises the budget, as `--limits` takes it.
    public let setting: String
    /// The client whose budget it is; `nil` where it is a network's.
    public let clientID: String?
    /// After how many seconds there is something again; an hour at most.
    public let retryAfterSeconds: Int
    /// What whoever asked can do.
    public let remedy: String
    /// Whether the log has not been told of this setting, and of this client, for a minute.
    public let isNews: Bool
}

/// A budget of sources together with its name, so that whoever runs out of it can be told which one it is.
public struct Budget: Sendable {
    private let setting: String
    private let remedy: String
    private let sources: SourceBudget
    private let news: SourceBudget
    private let isWithinClients: Bool

    /// The budget of at most `sources` sources, by the name of the setting that raises it: `burst` at once, and so many
    /// a minute after that. Where its sources are clients', each of at most `clients` has so many. `pauseOfReports` is
    /// how often the log is told.
    public init(
        _ setting: String, burst: Int, perMinute: Int, sources: Int, clients: Int? = nil,
        remedy: String = "Too many requests from this address.", pauseOfReports: Duration = Limits().pauseOfReports
    ) {
        self.setting = setting
        self.remedy = remedy
        self.sources = SourceBudget(
            burst: burst, perSecond: Double(perMinute) / 60, sources: sources, groups: clients ?? 1)
        self.isWithinClients = clients != nil
        self.news = SourceBudget(oneIn: pauseOfReports, sources: max(sources, clients ?? 0))
    }

    /// Spends one of a source's budget; where nothing is left, says so and spends nothing. The source is one of
    /// `client`'s.
    public func spend(_ source: String, of client: String? = nil, at now: Timestamp) -> Shortage? {
        guard let seconds = self.sources.spend(source, of: self.group(client), at: now) else { return nil }
        return Shortage(
            setting: self.setting, clientID: client, retryAfterSeconds: seconds, remedy: self.remedy,
            isNews: self.news.spend(client ?? "", at: now) == nil)
    }

    /// Gives one back (``SourceBudget/refund(_:of:)``).
    public func refund(_ source: String, of client: String? = nil) {
        self.sources.refund(source, of: self.group(client))
    }

    private func group(_ client: String?) -> String { self.isWithinClients ? client ?? "" : "" }
}
