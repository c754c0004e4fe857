public import _Primitives

/// A used-up budget, as the caller and the operator's log are told. An endpoint that throws the shortage answers 429.
public struct Shortage: Error, Hashable {
    /// The setting by which an operator raises the budget, as `--limits` takes it.
    public let setting: String
    /// The client whose budget is used up; `nil` for a network's budget.
    public let clientID: String?
    /// The seconds after which the budget has something again; an hour at most.
    public let retryAfterSeconds: Int
    /// Advice to the caller.
    public let remedy: String
    /// `true` if the log has not been told of this setting, and of this client, for the pause between two reports.
    public let isNews: Bool
}

/// A budget of sources together with its name, so that a caller without budget can be told the name.
public struct Budget: Sendable {
    private let setting: String
    private let remedy: String
    private let sources: SourceBudget
    private let news: SourceBudget
    private let isWithinClients: Bool

    /// Makes a budget of at most `sources` sources, named after the setting that raises the budget. Each source has
    /// `burst` at once, and `perMinute` each minute after that.
    ///
    /// If `clients` is set, the sources belong to clients: each of at most `clients` clients has room for `sources`
    /// sources. `pauseOfReports` is the shortest time between two reports to the log.
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

    /// Spends one of a source's budget and returns `nil`. If the budget is used up, spends nothing and returns the
    /// shortage. The source belongs to `client`.
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
