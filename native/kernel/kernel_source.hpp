// Kernel values between the rows of a block, and between a block and all active rows.
//
// Reading a stored value back from memory takes about as long as evaluating it from fifty features.
// So there are two sources: one evaluates what it is asked for, one keeps whole kernel rows.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <vector>

#include "core/interrupt.hpp"
#include "core/large_block.hpp"
#include "core/parallel.hpp"
#include "core/rows.hpp"
#include "kernel/kernel_evaluation.hpp"
#include "kernel/kernel_spec.hpp"
#include "kernel/row_cache.hpp"

namespace widemargin {

template <class T>
class KernelSource {
public:
    KernelSource(const Rows<T>& rows, const KernelSpec& spec, int threads)
        : rows_(rows), spec_(spec), threads_(threads) {}
    virtual ~KernelSource() = default;

    // Makes the kernel matrix of the rows active[chosen[0]], active[chosen[1]], … available.
    // False if interrupted on the way.
    bool fetch(const std::vector<std::int64_t>& active, const std::vector<std::int64_t>& chosen,
               Interrupt& interrupt) {
        std::vector<std::int64_t> wanted;
        for (std::int64_t k : chosen) wanted.push_back(active[std::size_t(k)]);
        if (wanted == held_) return true;
        held_.clear();
        lines_.resize(wanted.size());
        const std::size_t needed = wanted.size() * wanted.size();
        if (capacity_ < needed) {
            values_.reset();  // before the new one is there
            values_ = large_block<T>(needed);
            capacity_ = needed;
        }
        for (std::size_t i = 0; i < wanted.size(); ++i) lines_[i] = &values_[i * wanted.size()];
        fill(active, chosen, wanted, interrupt);
        if (interrupt.stop()) return false;
        held_ = std::move(wanted);
        return true;
    }

    // Of the block fetched last.
    const T* const* block() const { return lines_.data(); }

    // sums[k] += sum over i of coef[i] k(active[chosen[changed[i]]], active[k]), of that block.
    virtual void add_changes(const std::vector<std::int64_t>& active,
                             const std::vector<std::int64_t>& chosen,
                             const std::vector<std::int64_t>& changed,
                             const std::vector<double>& coef, double* sums) = 0;

    // Of the active rows only those listed in `kept` remain.
    virtual void drop(const std::vector<std::int64_t>& kept) = 0;

    // Most rows a block may have.
    virtual std::int64_t most_rows() const { return rows_.count; }

    std::int64_t entries() const { return entries_; }  // evaluated so far

protected:
    virtual void fill(const std::vector<std::int64_t>& active,
                      const std::vector<std::int64_t>& chosen,
                      const std::vector<std::int64_t>& wanted, Interrupt& interrupt) = 0;

    Rows<T> picked(const std::vector<std::int64_t>& rows) const {
        return rows_.picked(rows.data(), std::int64_t(rows.size()));
    }

    const Rows<T> rows_;
    const KernelSpec spec_;
    const int threads_;
    Block<T> values_;  // of the block
    std::vector<T*> lines_;
    std::int64_t entries_ = 0;

private:
    std::size_t capacity_ = 0;
    std::vector<std::int64_t> held_;  // rows whose matrix is at hand
};

template <class T>
class EvaluatedKernel final : public KernelSource<T> {
public:
    // With `near`, changes reach rows in near groups only; active rows then come in its order.
    EvaluatedKernel(const Rows<T>& rows, const KernelSpec& spec, int threads,
                    const NearGroups* near = nullptr)
        : KernelSource<T>(rows, spec, threads), near_(near) {}

    void add_changes(const std::vector<std::int64_t>& active,
                     const std::vector<std::int64_t>& chosen,
                     const std::vector<std::int64_t>& changed, const std::vector<double>& coef,
                     double* sums) override {
        std::vector<std::int64_t> rows;
        for (std::int64_t i : changed) rows.push_back(active[std::size_t(chosen[i])]);
        Interrupt never(nullptr);  // duals and margins must not part
        if (near_) {
            std::vector<std::int64_t> place;
            const GroupedRows from = near_->from().sorted(rows, &place);
            std::vector<T> by_group(coef.size());
            for (std::size_t i = 0; i < coef.size(); ++i) by_group[place[i]] = T(coef[i]);
            this->entries_ +=
                near_product(this->rows_, near_->to().sorted(active), this->rows_, from, *near_,
                             this->spec_, by_group.data(), 1, sums, this->threads_, never);
            return;
        }
        const std::vector<T> narrowed(coef.begin(), coef.end());
        kernel_product(this->picked(active), this->picked(rows), this->spec_, narrowed.data(), 1,
                       sums, this->threads_, never);
        this->entries_ += std::int64_t(rows.size()) * std::int64_t(active.size());
    }

    void drop(const std::vector<std::int64_t>&) override {}

private:
    void fill(const std::vector<std::int64_t>&, const std::vector<std::int64_t>&,
              const std::vector<std::int64_t>& wanted, Interrupt& interrupt) override {
        kernel_block(this->picked(wanted), this->picked(wanted), this->spec_, this->lines_.data(),
                     this->threads_, interrupt);
        this->entries_ += std::int64_t(wanted.size() * wanted.size());
    }

    const NearGroups* near_;
};

template <class T>
class CachedKernel final : public KernelSource<T> {
public:
    CachedKernel(const Rows<T>& rows, const KernelSpec& spec, int threads, std::int64_t bytes)
        : KernelSource<T>(rows, spec, threads), cache_(rows.count, rows.count, bytes) {}

    void add_changes(const std::vector<std::int64_t>& active,
                     const std::vector<std::int64_t>& chosen,
                     const std::vector<std::int64_t>& changed, const std::vector<double>& coef,
                     double* sums) override {
        std::vector<const T*> lines;
        for (std::int64_t i : changed) lines.push_back(cache_.find(chosen[std::size_t(i)]));
        const auto n = std::int64_t(active.size()), chunk = std::int64_t(4096);
        Interrupt never(nullptr);
        parallel_for((n + chunk - 1) / chunk, this->threads_, never, [&](std::int64_t task) {
            add_scaled_rows(lines.data(), coef.data(), std::int64_t(lines.size()), task * chunk,
                            std::min(n, (task + 1) * chunk), sums);
        });
    }

    void drop(const std::vector<std::int64_t>& kept) override { cache_.compact(kept); }

    std::int64_t most_rows() const override { return cache_.capacity(); }

private:
    void fill(const std::vector<std::int64_t>& active, const std::vector<std::int64_t>& chosen,
              const std::vector<std::int64_t>&, Interrupt& interrupt) override {
        const std::int64_t before = cache_.clock();
        std::vector<std::int64_t> missing;
        for (std::int64_t k : chosen)
            if (cache_.find(k))
                cache_.touch(k);
            else
                missing.push_back(k);
        cache_.make_room(std::int64_t(missing.size()), before);
        std::vector<std::int64_t> rows;
        std::vector<T*> out;
        for (std::int64_t k : missing) {
            rows.push_back(active[std::size_t(k)]);
            out.push_back(cache_.insert(k));
        }
        kernel_block(this->picked(rows), this->picked(active), this->spec_, out.data(),
                     this->threads_, interrupt);
        this->entries_ += std::int64_t(rows.size()) * std::int64_t(active.size());
        const auto size = std::int64_t(chosen.size());
        parallel_for(size, this->threads_, interrupt, [&](std::int64_t i) {
            const T* row = cache_.find(chosen[std::size_t(i)]);
            for (std::int64_t j = 0; j < size; ++j) this->lines_[i][j] = row[chosen[j]];
        });
    }

    RowCache<T> cache_;  // numbered like the active rows
};

}  // namespace widemargin
