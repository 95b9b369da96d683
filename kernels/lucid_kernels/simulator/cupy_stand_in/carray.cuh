// The arrays and the indices of ElementwiseKernel and ReductionKernel, with the names that CuPy gives them.
#pragma once

// The index of a loop over n elements, for all threads of the grid.
#define CUPY_FOR(i, n)                                                                          \
  for (ptrdiff_t i = (ptrdiff_t)blockIdx.x * blockDim.x + threadIdx.x, _stride_of_##i =         \
           (ptrdiff_t)blockDim.x * gridDim.x;                                                   \
       i < (n); i += _stride_of_##i)

// The indices along the axes: one without axes as well.
template <int ndim_> struct Indices {
  ptrdiff_t at[ndim_ ? ndim_ : 1];
  ptrdiff_t operator[](int axis) const { return at[axis]; }
};

// An array of any strides, which are in bytes.
template <class T, int ndim_, bool c_contiguous = false, bool use_32bit_indexing = false> class CArray {
 public:
  static const int ndim = ndim_;

  // `layout`: the lengths of the axes, then their strides.
  CArray(T* data, const ptrdiff_t* layout) : data_((char*)data), shape_(layout), strides_(layout + ndim_), size_(1) {
    for (int axis = 0; axis < ndim_; ++axis) size_ *= shape_[axis];
  }

  ptrdiff_t size() const { return size_; }
  const ptrdiff_t* shape() const { return shape_; }
  const ptrdiff_t* strides() const { return strides_; }

  T& operator[](ptrdiff_t i) { return element(i); }
  const T& operator[](ptrdiff_t i) const { return element(i); }
  template <class Int, size_t n> T& operator[](const Int (&indices)[n]) { return element(indices); }
  template <class Int, size_t n> const T& operator[](const Int (&indices)[n]) const { return element(indices); }
  template <class Int> T& operator[](std::initializer_list<Int> indices) { return element(indices.begin()); }
  template <class Int> const T& operator[](std::initializer_list<Int> indices) const { return element(indices.begin()); }
  T& operator[](const Indices<ndim_>& indices) { return element(indices.at); }
  const T& operator[](const Indices<ndim_>& indices) const { return element(indices.at); }

 private:
  T& element(ptrdiff_t i) const {
    ptrdiff_t offset = 0;
    for (int axis = ndim_ - 1; axis > 0; --axis) {
      offset += i % shape_[axis] * strides_[axis];
      i /= shape_[axis];
    }
    if (ndim_ > 0) offset += i * strides_[0];
    return *(T*)(data_ + offset);
  }
  template <class Int> T& element(const Int* indices) const {
    ptrdiff_t offset = 0;
    for (int axis = 0; axis < ndim_; ++axis) offset += (ptrdiff_t)indices[axis] * strides_[axis];
    return *(T*)(data_ + offset);
  }

  char* data_;
  const ptrdiff_t* shape_;
  const ptrdiff_t* strides_;
  ptrdiff_t size_;
};

// The indices of a loop's index in the shape that the loop goes over.
template <int ndim_, bool use_32bit_indexing = false> class CIndexer {
 public:
  static const int ndim = ndim_;

  explicit CIndexer(const ptrdiff_t* shape) : shape_(shape), size_(1) {
    for (int axis = 0; axis < ndim_; ++axis) size_ *= shape_[axis];
  }

  ptrdiff_t size() const { return size_; }
  const ptrdiff_t* shape() const { return shape_; }
  void set(ptrdiff_t i) {
    for (int axis = ndim_ - 1; axis > 0; --axis) {
      indices_.at[axis] = i % shape_[axis];
      i /= shape_[axis];
    }
    indices_.at[0] = i;
  }
  const Indices<ndim_>& get() const { return indices_; }

 private:
  const ptrdiff_t* shape_;
  ptrdiff_t size_;
  Indices<ndim_> indices_ = {};
};
